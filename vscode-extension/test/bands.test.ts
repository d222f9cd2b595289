import assert from "node:assert/strict";
import { test } from "node:test";
import { bandsOf, colourOf, COLOURS } from "../src/model/bands";
import { FILE, region, report, traced } from "./reports";

const looks = (...args: Parameters<typeof bandsOf>): unknown[] => bandsOf(...args).map(({ start, end, look, label }) => [start, end, look, label]);

void test("a band for each run of lines", () => {
  assert.deepEqual(looks(FILE, [report()]), [[5, 5, "graph", "graph 1"], [6, 6, "eager", "eager"], [7, 8, "graph", "graph 2"]]);
});

void test("the legend names the graph, its size and the function, and links to the view", () => {
  const [first] = bandsOf(FILE, [report()]);
  assert.match(first?.legend ?? "", /\*\*Graph 1\*\* of 2 \(2 operations\) of `big` \(train\\\.py\) · \[Show graphs\]\(command:graphbreak\.showGraphs\?/);
});

void test("other files have other bands", () => {
  assert.deepEqual(looks("file:///w/other.py", [report()]), []);
});

void test("where runs disagree, the line looks as bad as it is at worst", () => {
  const other = traced({ name: "small", regions: [region(5, 5, "not-reached"), region(8, 8, "eager")] });
  const bands = looks(FILE, [report(), report({ uri: "file:///w/b.py", functions: [other] })]);
  assert.deepEqual(bands, [[5, 5, "graph", "graph 1"], [6, 6, "eager", "eager"], [7, 7, "graph", "graph 2"], [8, 8, "eager", "eager"]]);
});

void test("a label is not said twice in a row", () => {
  const split = traced({ regions: [region(5, 5, "graph", 1), region(6, 6, "graph", 1)] });
  const helper = traced({ name: "h", regions: [region(6, 6, "not-reached")] });
  assert.deepEqual(bandsOf(FILE, [report({ functions: [split, helper] })]).map(({ label }) => label), ["graph 1", ""]);
});

void test("a recompiled line belongs to several graphs", () => {
  const bands = bandsOf(FILE, [report({ functions: [traced({ regions: [region(5, 5, "graph", 1, 2)] })] })]);
  assert.equal(bands[0]?.label, "graphs 1, 2");
});

void test("colours come round", () => {
  assert.equal(colourOf(1), 0);
  assert.equal(colourOf(COLOURS + 1), 0);
  assert.equal(colourOf(COLOURS), COLOURS - 1);
});
