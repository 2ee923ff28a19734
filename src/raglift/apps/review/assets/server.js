// Talking to the server: one change at a time, each on the version that this tab has seen. Nothing counts as done before
// the server says so.

const TAB = crypto.randomUUID();
let started;

class Gone extends Error {}
class Restarted extends Error {}
class Refused extends Error {
  constructor(status, content) {
    super(content.error ?? `the server answered ${status}`);
    this.status = status;
    this.content = content;
  }
}

async function ask(path, body) {
  let response;
  try {
    response = await fetch(path, body === undefined
      ? { cache: "no-store" }
      : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  } catch {
    throw new Gone("the server does not answer");
  }
  let content;
  try {
    content = await response.json();
  } catch {
    throw new Gone("the server stopped while it answered");
  }
  // Another start counts its versions anew: what this page knows of them means nothing there
  if (content.start !== undefined) {
    started ??= content.start;
    if (content.start !== started) throw new Restarted("the review was started again");
  }
  if (!response.ok) throw new Refused(response.status, content);
  return content;
}

// What is to be done waits here for what was asked before. A look at the server is no change that waits to be saved.
let lastInLine = Promise.resolve();
let waiting = 0;

function inLine(work, looks = false) {
  if (!looks) waiting += 1;
  const done = lastInLine.then(work).finally(() => {
    if (!looks) waiting -= 1;
  });
  lastInLine = done.catch(() => undefined);
  return done;
}
