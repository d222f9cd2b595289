"""The editor's side: the only place that knows pygls and lsprotocol. Handlers answer from the newest report and never wait for a trace.

Reading order:

    server.py         every message we answer, in one list
    session.py        one editor: what is open, what is known, what is shown
    documents.py      the open texts and how they changed
    results.py        the newest report of each entry document
    moving.py         reports follow the text through its edits
    diagnostics.py    reports -> squiggles, published when they change; severities.py: as loud as the user wants
    triggers.py       when a document is analysed
    runs.py           one analysis runs, one waits, what nobody waits for gives way
    analyses.py       what one analysis is given, and where its report goes
    trials.py         fixes are tried in the background, and what is looked at first
    workspace_trace.py, workspace_files.py
                      everything in the workspace that is marked, in the background
    settings.py       what a user can set; configuration.py asks the editor for it, for each of its folders.py
    convert.py        core values <-> LSP types, both directions, nowhere else
    text_sync.py, hover.py, code_actions.py, code_lens.py, commands.py, workspace_events.py, lifecycle.py
                      one request, or one family of notifications, each
    report.py, explain.py, rule.py
                      the same for requests of our own; wire.py: reports as the extension reads them
    progress.py, notices.py, telling.py, extensions.py
                      what we tell the user, and an extension that knows us, besides
    connection.py     pygls' server as we need it
    framing.py, receiving.py, losing.py
                      what is sent, cut into messages; is it one; documents of which something was not understood
    outgoing.py       what is said, for an editor that may not listen
    stdio.py, editor.py
                      the process, and how it notices that its editor is gone
"""
