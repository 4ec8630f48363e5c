// The page of a running server in a real browser. Called by scripts/page.sh; each step says what it expected.
"use strict";
const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const { mkdtempSync, readFileSync, rmSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const puppeteer = require("puppeteer-core");

const PROMPT = "The new version is broken in production, go back to the one before";
const WANTED = "release__rollback";

// The server on a free port; it says which as JSON on stdout.
function serve(toolroute, folder) {
  const child = spawn(toolroute, ["serve", "--tools", "examples/catalog", "--addr", "127.0.0.1:0", "--json"], {
    env: { ...process.env, XDG_CACHE_HOME: join(folder, "cache") },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return new Promise((done, failed) => {
    let said = "";
    child.on("exit", code => failed(new Error(`the server ended with ${code}`)));
    child.stdout.on("data", part => {
      said += part;
      const port = /"port":\s*(\d+)/.exec(said);
      if (port) done({ child, url: `http://127.0.0.1:${port[1]}/` });
    });
  });
}

async function ask(page, prompt) {
  await page.$eval("#prompt", input => { input.value = ""; });
  await page.type("#prompt", prompt);
  await page.waitForFunction(() => document.querySelectorAll("#tools > li").length > 0, { timeout: 20000 });
}

const ids = page => page.$$eval("#tools > li", items => items.map(item => item.dataset.id));

async function check(page, url, strangers, complaints) {
  await page.goto(url, { waitUntil: "domcontentloaded" });
  await page.waitForFunction(() => /\d+ tools/.test(document.querySelector("#catalog").textContent));

  await ask(page, PROMPT);
  assert.equal((await ids(page))[0], WANTED, "typing ranks");
  const bars = await page.$$eval("#tools > li:first-child .bars i", bars => bars.map(bar => bar.getBoundingClientRect().width));
  assert.ok(bars.length >= 2 && bars.every(width => width > 0), `a bar for each part, found ${bars}`);
  assert.match(await page.$eval("#tools > li:first-child .why", why => why.textContent), /meaning|words/);
  assert.match(await page.$eval("#stages", stages => stages.textContent), /embed.* ms/);

  await page.waitForSelector("#map circle.prompt", { timeout: 20000 });
  const dots = await page.$$eval("#map circle:not(.prompt)", dots => dots.length);
  const chosen = await page.$$eval("#map circle.chosen", dots => dots.length);
  assert.ok(dots > 50 && chosen === 5, `every tool on the map and five of them chosen, found ${dots} and ${chosen}`);

  // Another client's selection comes up by itself.
  const answer = await fetch(`${url}v1/select`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ prompt: "paint the fence" }),
  });
  assert.equal(answer.status, 200);
  await page.waitForFunction(() => document.querySelector("#recent").textContent.includes("paint the fence"), { timeout: 10000 });

  // Nothing fits, and it says so.
  await page.$eval("#prompt", input => { input.value = ""; });
  await page.type("#prompt", "why do cats purr");
  await page.waitForFunction(() => /No tool fits/.test(document.querySelector("#summary").textContent), { timeout: 20000 });
  assert.match(await page.$eval("#excluded summary", summary => summary.textContent), /\d+ left out/);

  // A language that is not read is the reason, and confidence is that of the answer alone.
  await page.$eval("#prompt", input => { input.value = ""; });
  await page.type("#prompt", "어제 파일을 모두 지워 줘");
  await page.waitForFunction(() => /language that the model here does not read/.test(document.querySelector("#summary").textContent), { timeout: 20000 });
  await ask(page, PROMPT);
  assert.match(await page.$eval("#summary", summary => summary.textContent), /confidence that a tool fits/);
  assert.doesNotMatch(await page.$eval("#tools", tools => tools.textContent), /confidence/);

  // The keyboard alone.
  await ask(page, PROMPT);
  await page.waitForFunction(wanted => document.querySelector("#tools > li")?.dataset.id === wanted, {}, WANTED);
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.dataset.id), WANTED, "an arrow goes into the answer");
  await page.keyboard.press("ArrowUp");
  assert.equal(await page.evaluate(() => document.activeElement.id), "prompt", "and back");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "prompt", "a slash goes to the prompt");

  // A tool's text is text.
  const markup = await page.$$eval("#tools script, #tools img, #recent script, #recent img", found => found.length);
  assert.equal(markup, 0);

  const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  for (const theme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
    const { violations } = await page.evaluate(() => globalThis.axe.run(document));
    const told = violations.map(found => `${found.id}: ${found.nodes.map(node => node.html).join(" ")}`);
    assert.deepEqual(told, [], `accessible in ${theme} mode`);
  }
  const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.notEqual(light, dark, "dark mode is dark");
  if (process.env.SHOT) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
    await page.screenshot({ path: process.env.SHOT });
  }
  assert.deepEqual(strangers, [], "nothing from elsewhere");
  assert.deepEqual(complaints, [], "no errors in the console");
}

async function main() {
  const folder = mkdtempSync(join(tmpdir(), "toolroute-page-"));
  const { child, url } = await serve(process.argv[2], folder);
  const browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    userDataDir: join(folder, "profile"),
  });
  try {
    const page = await browser.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    const strangers = [], complaints = [];
    page.on("request", request => {
      if (!request.url().startsWith(url) && !/^(data|blob|about):/.test(request.url())) strangers.push(request.url());
    });
    page.on("pageerror", error => complaints.push(String(error)));
    page.on("console", message => { if (message.type() === "error") complaints.push(message.text()); });
    await check(page, url, strangers, complaints);
    console.log("page: 1 passed");
  } finally {
    child.removeAllListeners("exit");
    child.kill();
    await browser.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

main().catch(problem => {
  console.error(problem);
  process.exit(1);
});
