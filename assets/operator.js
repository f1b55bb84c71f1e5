const $ = (id) => document.getElementById(id);
const RETRY_MS = 2_000;
const LATE_MS = 5 * 60_000;
const WORKER_MS = 60_000;

/** The run of the key that was given last; an earlier one ends by itself. */
let run = null;

$('enter').addEventListener('submit', (event) => {
  event.preventDefault();
  const key = $('key').value.trim();
  $('key').value = '';
  run?.abort();
  run = new AbortController();
  void follow(key, run.signal);
});
$('leave').addEventListener('click', () => leave('Not connected'));

function leave(state, refusal = '') {
  run?.abort();
  run = null;
  $('state').textContent = state;
  $('enter').hidden = false;
  $('overview').hidden = true;
  $('overview').replaceChildren();
  $('leave').hidden = true;
  $('refused').textContent = refusal;
  $('refused').hidden = refusal === '';
  $('key').focus();
}

/** Shows the stream of the key until it is refused or another is given; what breaks off is connected anew. */
async function follow(key, signal) {
  $('refused').hidden = true;
  $('state').textContent = 'Connecting …';
  while (!signal.aborted) {
    try {
      const answer = await fetch('/operator/v1/overview/stream', {
        headers: { 'x-api-key': key },
        cache: 'no-store',
        signal,
      });
      if ([401, 403].includes(answer.status)) {
        const { title, detail } = await answer.json();
        leave('Not connected', detail ?? title);
        return;
      }
      if (!answer.ok) throw new Error(`the api answered ${answer.status}`);
      $('enter').hidden = true;
      $('leave').hidden = false;
      for await (const { type, data } of eventsOf(answer.body)) {
        if (type === 'overview') show(data);
        else $('state').textContent = `Cannot be read: ${data.detail}`;
      }
      $('state').textContent = 'Connecting again …';
    } catch (error) {
      if (signal.aborted) return;
      $('state').textContent = `Not connected: ${error.message}. Trying again …`;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Server-sent events (WHATWG HTML §9.2), as the api writes them. */
async function* eventsOf(body) {
  let rest = '';
  for await (const chunk of chunksOf(body)) {
    const parts = (rest + chunk).split('\n\n');
    rest = parts.pop();
    for (const part of parts) {
      const [, type, data] = /^event: (\w+)\ndata: (.*)$/.exec(part) ?? [];
      if (data !== undefined) yield { type, data: JSON.parse(data) };
    }
  }
}

async function* chunksOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) yield step.value;
}

/** An element; texts are never HTML. */
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.append(...children.filter((child) => child !== null));
  return element;
}

const number = new Intl.NumberFormat('en');
const n = (value) => number.format(value);
const clock = (text) => new Date(text).toISOString().slice(11, 16);
const sum = (rows, of) => rows.reduce((total, row) => total + of(row), 0);

/** `4 min`, of milliseconds. */
function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

/** Faults in the view, the worst first: [tone, words]. */
function faultsOf(view) {
  const at = new Date(view.at);
  const since = (text) => at - new Date(text);
  const faults = [];
  for (const { name, state, reason } of view.checks)
    if (state !== 'ok') faults.push(['bad', `Check ${name} ${state}${reason === null ? '' : `: ${reason}`}`]);
  if (view.workerSeenAt === null) faults.push(['bad', 'No worker has ever run: nothing is sent.']);
  else if (since(view.workerSeenAt) > WORKER_MS)
    faults.push(['bad', `No worker since ${span(since(view.workerSeenAt))}: nothing is sent.`]);
  if (isLate(view)) faults.push(['warn', `Mail is due since ${span(since(view.open.oldestDueAt))}.`]);
  if (!view.installationRelay.isConfigured && view.installationRelay.due > 0)
    faults.push(['warn', 'SMTP_URL is not set: live mail waits.']);
  for (const { name, status, lastError, tenantKey, projectKey } of view.relays)
    if (status === 'FAILING')
      faults.push([
        'bad',
        `Relay ${name} of ${tenantKey}/${projectKey} fails${lastError === null ? '.' : `: ${lastError}`}`,
      ]);
  for (const { tenantKey, projectKey, stoppedFor } of view.projects)
    if (stoppedFor !== null) faults.push(['warn', `${tenantKey}/${projectKey} is stopped: ${stoppedFor}`]);
  if (view.lateJobs.length > 0)
    faults.push(['warn', `${n(sum(view.lateJobs, ({ jobs }) => jobs))} jobs are late.`]);
  if (view.failedJobs.length > 0)
    faults.push(['warn', `${n(sum(view.failedJobs, ({ jobs }) => jobs))} jobs failed in the last hour.`]);
  return faults.sort(([a], [b]) => (a === b ? 0 : a === 'bad' ? -1 : 1));
}

/** True if mail is due for longer than workers need to take it. */
function isLate({ at, open: { due, oldestDueAt } }) {
  return due > 0 && oldestDueAt !== null && new Date(at) - new Date(oldestDueAt) > LATE_MS;
}

function verdictOf(view, faults) {
  const sent = sum(view.minutes.slice(-5), (minute) => minute.sent);
  const { due, deferred, inFlight } = view.open;
  if (faults[0]?.[0] === 'bad')
    return ['bad', sent > 0 ? 'Mail flows, and something is broken' : 'Something is broken'];
  if (sent > 0) return [faults.length > 0 ? 'warn' : 'good', 'Mail is flowing'];
  if (isLate(view)) return ['bad', 'Mail is due, and none has left for 5 minutes'];
  if (due + inFlight > 0)
    return [faults.length > 0 ? 'warn' : 'good', due > 0 ? 'Mail has become due' : 'Mail is in flight'];
  if (deferred > 0) return ['warn', 'All mail that is open is deferred'];
  return [faults.length > 0 ? 'warn' : 'good', 'Quiet: no mail is due'];
}

function show(view) {
  $('state').textContent = `Live, as of ${new Date(view.at).toISOString().slice(11, 19)} UTC`;
  const faults = faultsOf(view);
  const [tone, verdict] = verdictOf(view, faults);
  document.title = `${verdict} – Mailwright`;
  const atLeast = (mails) => `${n(mails)}${view.isPartial && mails > 0 ? '+' : ''}`;
  const perMinute = Math.round(sum(view.minutes.slice(-6, -1), (minute) => minute.sent) / 5);
  const { open } = view;
  const scrolled = [...document.querySelectorAll('.scroll')].map((box) => box.scrollLeft);
  $('overview').replaceChildren(
    el(
      'section',
      { id: 'verdict', 'data-tone': tone },
      el('h2', {}, verdict),
      faults.length === 0
        ? el('p', { class: 'none' }, 'All checks pass, no job is late.')
        : el('ul', {}, ...faults.slice(0, 12).map(([kind, words]) => el('li', { class: kind }, words))),
    ),
    el(
      'div',
      { class: 'figures' },
      figure('Sent a minute', n(perMinute), 'over the last 5'),
      figure(
        'Due',
        atLeast(open.due),
        open.oldestDueAt === null ? '' : `since ${span(new Date(view.at) - new Date(open.oldestDueAt))}`,
      ),
      figure('Deferred', atLeast(open.deferred), 'refused for now'),
      figure('In flight', n(open.inFlight), 'workers have them'),
      figure('Later', atLeast(open.later), 'not due yet'),
    ),
    el(
      'p',
      { class: 'note' },
      view.isPartial
        ? 'Of each campaign and kind of mail at most 5,000 are counted: there are more where a + is.'
        : '',
    ),
    el('section', {}, el('h2', {}, 'Sent, minute by minute'), chart(view.minutes)),
    el(
      'section',
      {},
      el('h2', {}, 'Deferred, and why'),
      table('Nothing is deferred.', view.deferrals, [
        ['Mails', (one) => n(one.mails), 'n'],
        ['Reason', (one) => one.reason, 'words'],
        ['Provider', (one) => one.providers.join(', ')],
        ['Project', (one) => one.projects.join(', ')],
      ]),
    ),
    el(
      'section',
      {},
      el('h2', {}, 'Projects'),
      table('No project has mail that is open or was sent in this hour.', view.projects, [
        ['Project', project, 'head'],
        ...OPEN,
        ...SENT,
        ['Stopped', (one) => (one.stoppedFor === null ? '' : el('span', { class: 'bad' }, one.stoppedFor))],
      ]),
    ),
    el(
      'section',
      {},
      el('h2', {}, 'Relays'),
      table(
        'There are none.',
        [{ ...view.installationRelay, isInstallations: true }, ...view.relays],
        [
          [
            'Relay',
            (one) => (one.isInstallations ? 'The installation’s' : `${one.name} (${one.relayKey})`),
            'head',
          ],
          ['Project', (one) => (one.isInstallations ? 'all without their own' : project(one))],
          [
            'State',
            (one) =>
              one.isInstallations
                ? one.isConfigured
                  ? ''
                  : toned('SMTP_URL is not set', 'warn')
                : toned(one.status, { ACTIVE: 'good', FAILING: 'bad' }[one.status] ?? 'warn'),
          ],
          ...OPEN,
          ['Sent', (one) => n(one.sent), 'n'],
          ['Last error', (one) => one.lastError ?? '', 'words'],
        ],
      ),
    ),
    el(
      'section',
      {},
      el('h2', {}, 'Mailbox providers'),
      table('No mail is open or was sent in this hour.', view.providers, [
        ['Provider', (one) => one.provider, 'head'],
        ...OPEN,
        ...SENT,
        [
          'Slowed',
          (one) => (one.slowUntil === null ? '' : toned(`until ${clock(one.slowUntil)} UTC`, 'warn')),
        ],
      ]),
    ),
    el(
      'div',
      { class: 'two' },
      el(
        'section',
        {},
        el('h2', {}, 'Sending domains in trouble'),
        table('All domains are active.', view.domains, [
          ['Domain', (one) => one.domainName, 'head'],
          ['Project', project],
          [
            'State',
            (one) =>
              toned(
                one.status.toLowerCase().replaceAll('_', ' '),
                one.status === 'PENDING_VERIFICATION' ? 'warn' : 'bad',
              ),
          ],
          ['Reason', (one) => one.reason ?? ''],
        ]),
      ),
      el(
        'section',
        {},
        el('h2', {}, 'Checks'),
        table('There are none.', view.checks, [
          ['Check', (one) => one.name, 'head'],
          ['State', (one) => toned(one.state, one.state === 'ok' ? 'good' : 'bad')],
          ['Reason', (one) => one.reason ?? ''],
        ]),
      ),
      el(
        'section',
        {},
        el('h2', {}, 'Late jobs'),
        table('No job is late.', view.lateJobs, [
          ['Job', (one) => one.name, 'head'],
          ['Jobs', (one) => n(one.jobs), 'n'],
          ['Due', (one) => `since ${span(new Date(view.at) - new Date(one.dueSince))}`],
          ['Last error', (one) => one.lastError ?? '', 'words'],
        ]),
      ),
      el(
        'section',
        {},
        el('h2', {}, 'Jobs that failed in the last hour'),
        table('No job failed.', view.failedJobs, [
          ['Job', (one) => one.name, 'head'],
          ['Jobs', (one) => n(one.jobs), 'n'],
          ['Last error', (one) => one.lastError ?? '', 'words'],
        ]),
      ),
    ),
  );
  $('overview').hidden = false;
  for (const [index, box] of document.querySelectorAll('.scroll').entries())
    box.scrollLeft = scrolled[index] ?? 0;
}

const project = (one) => `${one.tenantKey}/${one.projectKey}${one.environment === 'TEST' ? ' (test)' : ''}`;
const toned = (words, tone) => el('span', { class: tone }, words);
const OPEN = [
  ['Due', (one) => n(one.due), 'n'],
  ['Deferred', (one) => (one.deferred > 0 ? toned(n(one.deferred), 'warn') : '0'), 'n'],
  ['In flight', (one) => n(one.inFlight), 'n'],
  ['Later', (one) => n(one.later), 'n'],
];
const SENT = [
  ['Sent, 2 h', (one) => n(one.sent), 'n'],
  ['Bounced', (one) => n(one.bounced), 'n'],
  ['Complained', (one) => n(one.complained), 'n'],
];

function figure(name, value, note) {
  return el(
    'section',
    {},
    el('dl', {}, el('dt', {}, name), el('dd', {}, value), el('dd', { class: 'note' }, note)),
  );
}

/** Bars, whose numbers are in words for who does not see them. */
function chart(minutes) {
  const most = Math.max(1, ...minutes.map(({ sent }) => sent));
  const first = minutes.at(0)?.minute;
  const words = `From ${clock(first)} UTC on: ${minutes.map(({ sent }) => sent).join(', ')}`;
  const bars = minutes.map(({ minute, sent }) =>
    el('i', { style: `height:${Math.round((100 * sent) / most)}%`, title: `${clock(minute)}: ${n(sent)}` }),
  );
  return el(
    'div',
    {},
    el('div', { class: 'chart', role: 'img', 'aria-label': words }, ...bars),
    el(
      'span',
      { class: 'note' },
      `${clock(first)} to ${clock(minutes.at(-1).minute)} UTC, at most ${n(most)} a minute`,
    ),
  );
}

/** Rows by columns of [heading, value, kind], or words where there are none. */
function table(none, rows, columns) {
  if (rows.length === 0) return el('p', { class: 'none' }, none);
  const cell =
    (row) =>
    ([, of, kind]) =>
      kind === 'head'
        ? el('th', { scope: 'row' }, of(row))
        : el('td', kind === undefined ? {} : { class: kind }, of(row));
  const heads = columns.map(([name, , kind]) =>
    el('th', { scope: 'col', ...(kind === 'n' && { class: 'n' }) }, name),
  );
  return el(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': columns[0][0] },
    el(
      'table',
      {},
      el('thead', {}, el('tr', {}, ...heads)),
      el('tbody', {}, ...rows.map((row) => el('tr', {}, ...columns.map(cell(row))))),
    ),
  );
}
