"""A program that asks for CUDA where there is none is traced as the same program that asks for the CPU, and says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphbreak.core.findings import Kind, Outcome, Report
from graphbreak.core.requests import Settings
from harness import INTERPRETER, PRINT, Harness, assert_print_example, of_kind, only, worker_has

CPU = Settings(interpreter=INTERPRETER, device="cpu")  # the same on a machine that has CUDA
NOTE = "main.py asked for cuda; there is none, so it was traced on the CPU."

BODIES = {
    "a factory": "y = x + torch.zeros(3, device='cuda')",
    "a factory with an index": "y = x + torch.ones(3, device='cuda:0')",
    "to a name": "y = x.to('cuda') * 2",
    "to a name with an index and a type": "y = x.to('cuda:0', torch.bfloat16) * 2",
    "to a device": "y = x.to(device) * 2",
    "by method": "y = x.cuda() * 2",
    "by method, not blocking": "y = x.cuda(non_blocking=True) * 2",
    "to an index": "y = x.to(0) * 2",
    "by method with an index": "y = x.cuda(0) * 2",
    "a subclass": "y = x.as_subclass(Tagged).to('cuda') * 2",
    "a subclass that overrides": "y = x.as_subclass(Counting).to('cuda') * 2",
    "a new tensor": "y = x.new_zeros(3, device='cuda') + torch.tensor([1.0, 2.0, 3.0], device='cuda')",
    "a like": "y = torch.zeros_like(x, device=device) + torch.empty_like(x, device='cuda').fill_(0)",
    "random": "y = x + torch.rand(3, device='cuda') + torch.randint(0, 3, (3,), device='cuda')",
    "a range": "y = x[torch.arange(2, device='cuda')]",
    "a question": "y = x + 1 if x.is_cuda or torch.cuda.is_available() else x * 2",
    "the device of a tensor": "y = torch.zeros(3, device=x.device) + x",
    "autocast": "with torch.autocast('cuda', dtype=torch.bfloat16):\n        y = x[None] @ x[:, None]",
    "autocast without a type": "with torch.autocast(device_type='cuda'):\n        y = x[None] @ x[:, None]",
    "a device as context": "with torch.device('cuda'):\n        y = x + torch.ones(3)",
    "indices": "y = x[torch.tril_indices(2, 2, device='cuda')[0]]",
    "a break before and after": "y = x.cuda() + 1\n    print('b')\n    y = y + torch.ones(3, device='cuda')",
    "data in a branch": "y = x.to('cuda')\n    if y.sum() > 0:\n        y = y.cuda() + 1",
    "half": "y = x.to('cuda').half() + torch.ones(3, device='cuda', dtype=torch.float16)",
    "a module that moves": "y = net.to('cuda')(x.cuda())",
    "a loop": "y = x\n    for _ in range(3):\n        y = y.to('cuda') + torch.full((3,), 2.0, device='cuda')",
    "a gradient": "y = (x.cuda() * weight).sum()\n    y.backward()",
}
OUTSIDE = {
    "a device object": "f(torch.randn(3).to(device))",
    "a module": "f(net.to(device)(torch.randn(3, device=device)))",
    "a module by method": "f(net.cuda()(torch.randn(3).cuda()))",
    "a module with an index": "f(net.cuda(0)(torch.randn(3).to(0)))",
    "a subclass": "f(torch.randn(3).as_subclass(Tagged).to('cuda'))",
    "a subclass that overrides": "f(torch.randn(3).as_subclass(Counting).to('cuda', torch.float64).cuda())",
    "keywords": "f(torch.randn(3).to(dtype=torch.float64, device='cuda').to(torch.float32).to(net.weight))",
    "bfloat16": "f(net.to('cuda', torch.bfloat16)(torch.randn(3, device='cuda', dtype=torch.bfloat16)).detach())",
    "the default device": "torch.set_default_device('cuda')\nf(torch.randn(3))",
    "a device as context": "with torch.device('cuda'):\n    f(torch.randn(3))",
    "autocast": "with torch.autocast('cuda', dtype=torch.bfloat16):\n    f(net.cuda()(torch.randn(3).cuda()).float())",
    "meta first": "big = torch.nn.Linear(3, 3, device='meta').to_empty(device='cuda')\nf(big(torch.randn(3, device='cuda')).detach())",
    "a generator": "f(torch.randn(3, generator=torch.Generator(device='cuda').manual_seed(3), device='cuda'))",
}
CLASSES = """
class Tagged(torch.Tensor):
    pass

class Counting(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})
"""
HEAD = (
    "import torch\ndevice = torch.device('cuda')\nnet = torch.nn.Linear(3, 3)\nweight = torch.ones(3, requires_grad=True)\n\n"
    + CLASSES.replace("{", "{{").replace("}", "}}")
    + "\n@torch.compile\ndef f(x):\n    {}\n    print('a')\n    return y * 3\n\n{}\n"
)
PROGRAMS = {
    **{f"inside: {name}": HEAD.format(body, "f(torch.randn(3))\nf(torch.randn(3, device='cuda'))") for name, body in BODIES.items()},
    **{f"outside: {name}": HEAD.format("y = x * 2", call) for name, call in OUTSIDE.items()},
}


def on_cpu(text: str) -> str:
    """The program with its words for CUDA replaced."""
    return (
        re.sub(r"\.cuda\((?:non_blocking=True|0)?\)", ".cpu()", text.replace(".to(0)", ".cpu()"))
        .replace("'cuda:0'", "'cpu'")
        .replace("'cuda", "'cpu")
    )


def shown(report: Report) -> list[object]:
    """What must be the same: everything but the words for the device, and where on the line things stand."""
    found = [(each.kind.value, each.code, each.span.start.line, len(each.stack)) for each in report.diagnostics]
    rows = [(row.outcome, row.graphs, row.ops, row.breaks, row.skipped, row.recompiles, row.inputs) for row in report.functions]
    return [*found, *rows, report.output]


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_it_is_traced_as_the_same_program_on_the_cpu(harness: Harness, tmp_path: Path, text: str) -> None:
    report = harness.analyse(tmp_path / "main.py", text, settings=CPU)
    assert (only(report).outcome, report.environment.device) == (Outcome.TRACED, "cpu"), report.output
    assert only(report).breaks or only(report).skipped
    assert NOTE in report.environment.notes
    other = harness.analyse(tmp_path / "main.py", on_cpu(text), settings=CPU)
    assert NOTE not in other.environment.notes
    assert shown(report) == shown(other)


CALLS = """\
torch.cuda.synchronize()
torch.cuda.empty_cache()
torch.cuda.manual_seed(3)
torch.cuda.manual_seed_all(3)
torch.cuda.set_device(0)
torch.cuda.get_device_name() + torch.cuda.get_device_name(0)
torch.arange(3)[torch.cuda.current_device()]
list(range(torch.cuda.device_count()))
torch.cuda.memory_allocated() + torch.cuda.max_memory_allocated() + torch.cuda.memory_reserved()
torch.cuda.reset_peak_memory_stats()
torch.cuda.memory_summary().splitlines()
torch.cuda.get_device_capability() >= (8, 0)
torch.cuda.get_device_properties(0).total_memory // 2**20
torch.cuda.mem_get_info()[0] / 2
torch.cuda.is_bf16_supported()
torch.cuda.set_rng_state(torch.cuda.get_rng_state())
torch.cuda.current_stream().wait_stream(torch.cuda.Stream())
torch.cuda.Stream().synchronize()
torch.cuda.Event(enable_timing=True).record()
torch.cuda.nvtx.range_push("a"), torch.cuda.nvtx.range_pop()
torch.cuda.ipc_collect()
torch.cuda.FloatTensor(3)
torch.amp.GradScaler("cuda").scale(torch.ones(1, requires_grad=True).sum()).backward()
torch.cuda.amp.GradScaler().update()
torch.autocast("cuda", dtype=torch.float16)
torch.cuda.amp.autocast(dtype=torch.bfloat16)
torch.Generator(device="cuda").manual_seed(1).get_state()
isinstance(torch.default_generator, torch.Generator) or 1 / 0
torch.ones(3).pin_memory().to("cuda", non_blocking=True)
torch.randn(2, 3, 4, 4).cuda().to(memory_format=torch.channels_last)
torch.as_tensor([1], device="cuda") + torch.tensor(1).cuda()
torch.sparse_coo_tensor(torch.tensor([[0, 1]]), torch.ones(2), (3,), device="cuda")
torch.nn.DataParallel(net).cuda()
net.half().to("cuda")(torch.ones(3, dtype=torch.float16, device="cuda"))
net.bfloat16().cuda()(torch.ones(3, dtype=torch.bfloat16, device="cuda"))
torch.nn.functional.scaled_dot_product_attention(*torch.randn(3, 1, 2, 4, 8, device="cuda", dtype=torch.bfloat16))
setattr(torch.backends.cudnn, "benchmark", True)
setattr(torch.backends.cuda.matmul, "allow_tf32", True)
next(iter(torch.utils.data.DataLoader(torch.ones(4, 3), 2, pin_memory=True))).cuda(non_blocking=True)
torch.load(saved(), map_location="cuda")["a"] + torch.ones(3, device="cuda")
torch.load(saved(), map_location=torch.device("cuda:0"), weights_only=False)
torch.load(saved(), map_location={"cpu": "cuda:0"})
net.load_state_dict({name: value.cuda() for name, value in net.state_dict().items()})
torch.optim.AdamW(net.cuda().parameters(), fused=True)
torch.multinomial(torch.ones(3, device="cuda"), 2, generator=torch.Generator("cuda"))
"""
BLOCKS = """\
with torch.cuda.stream(torch.cuda.Stream()):
    torch.ones(3, device="cuda")
with torch.cuda.device(0), torch.cuda.amp.autocast():
    torch.ones(3, device="cuda")
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
end.record()
assert start.elapsed_time(end) >= 0
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    torch.ones(3, device="cuda")
assert not torch.cuda.is_available()
print(torch.ones(3, device="cuda").device)
"""
CALLER = """\
import io
import torch

net = torch.nn.Linear(3, 3)

def saved():
    torch.save({"a": torch.ones(3)}, buffer := io.BytesIO())
    buffer.seek(0)
    return buffer

for line in CALLS.splitlines():
    try:
        eval(line)
    except Exception as error:
        print(f"{line} raised {type(error).__name__}: {error}")
"""


def test_what_a_script_does_with_a_device_does_not_end_it(harness: Harness, tmp_path: Path) -> None:
    text = f"import warnings\nwarnings.simplefilter('ignore')\nCALLS = {CALLS!r}\n{CALLER}\n{BLOCKS}"
    report = harness.analyse(tmp_path / "main.py", text, settings=CPU)
    assert report.output == "cpu\n"
    assert report.environment.notes == (NOTE,)
    assert not of_kind(report, Kind.RAISED)


def test_without_a_word_for_cuda_nothing_is_said(harness: Harness, tmp_path: Path) -> None:
    report = harness.analyse(tmp_path / "main.py", PRINT.replace("@", "assert not torch.cuda.is_available()\n\n\n@"), settings=CPU)
    assert_print_example(report)
    assert report.environment.notes == ()


def test_a_device_that_is_not_there_is_refused_in_one_sentence(harness: Harness, tmp_path: Path) -> None:
    text = "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\n" + PRINT
    environment = {"CUDA_VISIBLE_DEVICES": ""}
    hidden = Harness(variables=environment)
    try:
        report = hidden.analyse(tmp_path / "main.py", text, settings=Settings(interpreter=INTERPRETER, device="cuda"))
    finally:
        hidden.close()
    assert only(report).outcome is Outcome.REFUSED
    assert report.problems == (f"The device is set to cuda, and {INTERPRETER} finds none; set it to auto or cpu.",)


@pytest.mark.skipif(not (worker_has("transformers") and worker_has("accelerate")), reason="needs transformers with accelerate")
@pytest.mark.parametrize("device_map", ["auto", "cuda", "cuda:0"])
def test_a_device_map(harness: Harness, tmp_path: Path, device_map: str) -> None:
    text = (
        "import torch\nfrom transformers import BertConfig, BertModel\n"
        "small = BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, vocab_size=50)\n"
        "import tempfile; saved = tempfile.mkdtemp(); BertModel(small).save_pretrained(saved)\n"
        f"model = BertModel.from_pretrained(saved, device_map={device_map!r})\n"
        "fast = torch.compile(model)\nfast(torch.ones(1, 4, dtype=torch.long, device='cuda'))\n"
    )
    report = harness.analyse(tmp_path / "main.py", text, settings=CPU)
    assert only(report).outcome is Outcome.TRACED, report.output
    assert NOTE in report.environment.notes
