/** One program of `npm run bench`. */
export interface PlannedBenchmark {
  readonly name: string;
  /** Names the two sides that it compares. */
  readonly title: string;
  /** Its sizes at a scale of 1, multiplied by the scale; never below `least`. */
  readonly sizes: Readonly<Record<string, { readonly full: number; readonly least: number }>>;
  /** Variable with the number of runs of each of the two, after a warm-up: no matter of the scale. */
  readonly repeats: 'PAIRS' | 'TIMES' | null;
  /** Further environment variables. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The figures that stand in the table. */
  readonly figures: readonly PlannedFigure[];
}

export interface PlannedFigure {
  readonly label: string;
  /** Finds its line; the groups are the median, the least and the greatest. */
  readonly line: RegExp;
  readonly goal?: { readonly text: string; isMet(median: number): boolean };
}

/** `12.3 (11.9–13.0)`, as `spread` writes it. */
const SPREAD = String.raw`(-?[\d.]+) \((-?[\d.]+)–(-?[\d.]+)\)`;
const COLUMNS = String.raw`\s+median ([\d.]+)\s+min ([\d.]+)\s+max ([\d.]+)`;

const spreadAfter = (begin: string): RegExp => new RegExp(`^\\s*${begin}${SPREAD}`, 'm');
const atLeast = (least: number) => ({ text: `≥ ${least}`, isMet: (median: number) => median >= least });
const atMost = (most: number, unit = '') => ({
  text: `≤ ${most}${unit}`,
  isMet: (median: number) => median <= most,
});

/** The worst of the ratios of all rules, counted or written. */
const RATIOS_OF_RULES = new RegExp(String.raw`^\s+(?:count|write)\s.*, ratio ${SPREAD}`, 'gm');

/** Ratios to a tenth of the environments, of the first look and of later ones. */
const RATIOS_TO_A_TENTH = /, ms: .* against .*, ratio ([\d.]+)/g;

const BESIDE_QUIET = String.raw`mails beside quiet campaigns \(reference: without\)`;

const ROWS = { full: 1_000_000, least: 2_000 };

/** In the order in which they run. Goals are those of docs/internals/performance.md. */
export const BENCHMARKS: readonly PlannedBenchmark[] = [
  {
    name: 'beside-listmonk',
    title: 'The same people, requests, campaigns and feedback, against listmonk',
    sizes: {
      PEOPLE: { full: 200_000, least: 10_000 },
      RECIPIENTS: { full: 30_000, least: 5_000 },
      QUIET: { full: 400, least: 40 },
    },
    repeats: 'PAIRS',
    figures: [
      { label: 'import, ratio', line: spreadAfter('import, rows, ratio: '), goal: atLeast(5) },
      { label: 'get, ratio', line: spreadAfter('get one person, ratio: '), goal: atLeast(1.5) },
      {
        label: 'create, ratio',
        line: spreadAfter('create a person with consent, ratio: '),
        goal: atLeast(1),
      },
      {
        label: 'mails, ratio',
        line: spreadAfter('campaign, mails, both with a text part, ratio: '),
        goal: atLeast(1.25),
      },
      {
        label: 'mails, ratio of CPU',
        line: spreadAfter('campaign, mails, as each is set up, ratio of CPU: '),
        goal: atMost(0.85),
      },
      { label: 'click, ratio', line: spreadAfter('click, ratio: '), goal: atLeast(2) },
      { label: 'worker memory, MB', line: /memory: worker (\d+) MB/, goal: atMost(250) },
    ],
  },
  {
    name: 'campaign',
    title: 'A campaign to an SMTP sink, against nodemailer’s pool sending one of its mails',
    sizes: { RECIPIENTS: { full: 50_000, least: 500 }, SIGNED_PAIRS: { full: 3, least: 1 } },
    repeats: 'PAIRS',
    figures: [
      { label: 'mails/s', line: spreadAfter('mails/s: ') },
      { label: 'ratio', line: spreadAfter('ratio: '), goal: atLeast(1) },
      {
        label: 'signed, ratio to RSA-2048 signatures',
        line: spreadAfter('ratio, signed: '),
        goal: atLeast(0.6),
      },
      { label: 'worker memory, MB', line: /worker memory: at most (\d+) MB/, goal: atMost(250) },
    ],
  },
  {
    name: 'quiet-campaigns',
    title: 'A campaign beside those of which all people wait, against itself without them',
    sizes: { RECIPIENTS: { full: 50_000, least: 2_000 }, QUIET: { full: 400, least: 40 } },
    repeats: 'PAIRS',
    figures: [
      { label: 'ratio', line: spreadAfter(`${BESIDE_QUIET}, ratio: `), goal: atLeast(0.95) },
      { label: 'ratio of CPU', line: spreadAfter(`${BESIDE_QUIET}, ratio of CPU: `), goal: atMost(1.05) },
      {
        label: 'ratio of statements',
        line: /statements of a campaign: .* ratio ([\d.]+)/,
        goal: atMost(1.05),
      },
    ],
  },
  {
    name: 'many-environments',
    title: 'Lists, reports and a small campaign beside many environments, against a tenth of them',
    sizes: { PEOPLE: { full: 20_000, least: 2_000 } },
    repeats: null,
    figures: [{ label: 'ratio, the worst', line: RATIOS_TO_A_TENTH, goal: atMost(2) }],
  },
  {
    name: 'wake-ups',
    title: 'Commits of 16 clients with their wake-ups, against none',
    sizes: { SECONDS: { full: 10, least: 1 } },
    repeats: 'PAIRS',
    figures: [
      { label: 'commits/s', line: spreadAfter('commits/s: ') },
      { label: 'ratio', line: spreadAfter('ratio: '), goal: atLeast(0.8) },
      { label: 'ratio, NOTIFY in each', line: spreadAfter('ratio, NOTIFY in each: ') },
    ],
  },
  {
    name: 'expansion',
    title: 'A campaign’s recipients written down, against one INSERT … SELECT',
    sizes: { ROWS },
    repeats: 'PAIRS',
    figures: [
      { label: 'rows/s', line: spreadAfter('rows/s: ') },
      { label: 'ratio', line: spreadAfter('ratio: '), goal: atLeast(0.7) },
    ],
  },
  {
    name: 'dkim',
    title: 'Messages signed, against bare signatures',
    sizes: {},
    repeats: 'PAIRS',
    figures: [
      { label: 'RSA-2048, messages/s', line: spreadAfter('RSA-2048, messages/s: ') },
      {
        label: 'RSA-2048, ratio of CPU',
        line: spreadAfter('RSA-2048, ratio of CPU: '),
        goal: atLeast(0.85),
      },
    ],
  },
  {
    name: 'subscribers',
    title: 'Subscribers over HTTP, against bare Fastify and pg with the same SQL',
    sizes: { ROWS, SECONDS: { full: 5, least: 2 } },
    repeats: 'PAIRS',
    // Lists have no reference.
    settings: { ONLY: 'get,create' },
    figures: [
      { label: 'get, requests/s', line: spreadAfter('get: ') },
      {
        label: 'get, ratio',
        line: new RegExp(String.raw`^get: [\s\S]*?ratio[^\d\n]*${SPREAD}`, 'm'),
        goal: atLeast(0.5),
      },
      { label: 'create, requests/s', line: spreadAfter('create: ') },
      {
        label: 'create, ratio',
        line: new RegExp(String.raw`^create: [\s\S]*?ratio[^\d\n]*${SPREAD}`, 'm'),
        goal: atLeast(0.5),
      },
    ],
  },
  {
    name: 'tracking',
    title: 'Click redirects, against bare Fastify',
    sizes: { SECONDS: { full: 3, least: 2 } },
    repeats: 'PAIRS',
    figures: [
      { label: 'redirects/s', line: new RegExp(`^redirects/s, api${COLUMNS}`, 'm') },
      {
        label: 'ratio',
        line: new RegExp(String.raw`^ratio \(goal[^)]*\)${COLUMNS}`, 'm'),
        goal: atLeast(0.5),
      },
    ],
  },
  {
    name: 'hostile-content',
    title: 'The longest waits of others beside the worst content of one project, against quiet',
    sizes: { SECONDS: { full: 30, least: 10 } },
    repeats: 'PAIRS',
    figures: [
      {
        label: 'health, longest wait added, ms',
        line: spreadAfter('health, longest wait added, ms: '),
        goal: atMost(250),
      },
      {
        label: 'confirmation, longest wait added, ms',
        line: spreadAfter('confirmation, longest wait added, ms: '),
        goal: atMost(250),
      },
    ],
  },
  {
    name: 'import',
    title: 'An import of CSV, against COPY into one table without indexes',
    sizes: { ROWS },
    repeats: 'PAIRS',
    figures: [
      { label: 'rows/s', line: spreadAfter('rows/s: ') },
      { label: 'ratio', line: spreadAfter('ratio: '), goal: atLeast(0.15) },
    ],
  },
  {
    name: 'events',
    title: 'Batches of events over HTTP, against inserts of as many rows',
    sizes: { PEOPLE: { full: 100_000, least: 2_000 }, SECONDS: { full: 5, least: 2 } },
    repeats: 'PAIRS',
    figures: [
      { label: 'events/s', line: spreadAfter('events/s: '), goal: atLeast(10_000) },
      { label: 'ratio', line: spreadAfter('ratio: ') },
    ],
  },
  {
    name: 'messages',
    title:
      'Messages over HTTP, one at a time against subscribers and in batches; how soon they are on the wire',
    sizes: {
      REQUESTS: { full: 400, least: 100 },
      BATCHES: { full: 120, least: 20 },
      RECIPIENTS: { full: 100_000, least: 2_000 },
    },
    repeats: 'PAIRS',
    figures: [
      { label: 'one, ratio', line: spreadAfter('ratio, TEST, 1 at once, alone: '), goal: atMost(1.2) },
      {
        label: '16 at once, ratio',
        line: spreadAfter('ratio, TEST, 16 at once, alone: '),
        goal: atMost(1.2),
      },
      { label: 'live, one, ratio', line: spreadAfter('ratio, LIVE, 1 at once, alone: '), goal: atMost(1.2) },
      {
        label: 'live, 16 at once, ratio',
        line: spreadAfter('ratio, LIVE, 16 at once, alone: '),
        goal: atMost(1.2),
      },
      {
        label: 'live by batches, messages/s',
        line: spreadAfter('messages/s by batches, LIVE, beside the worker: '),
        goal: atLeast(1_000),
      },
      {
        label: 'on the wire beside a campaign, p99, ms',
        line: /beside a campaign, ms: p50 \d+ p99 (\d+)/,
        goal: atMost(1_000, ' ms'),
      },
    ],
  },
  {
    name: 'segments',
    title: 'Ten rules counted and written, against SQL written by hand (ratio of times)',
    sizes: { ROWS },
    repeats: 'PAIRS',
    figures: [{ label: 'ratio, the worst rule', line: RATIOS_OF_RULES, goal: atMost(1.3) }],
  },
  {
    name: 'pre-send',
    title: 'The pre-send analysis over HTTP',
    sizes: { ROWS },
    repeats: 'TIMES',
    figures: [{ label: 'ms', line: spreadAfter(''), goal: atMost(5_000, ' ms') }],
  },
  {
    name: 'previews',
    title: 'Previews of a campaign that an author changes, over HTTP',
    sizes: {},
    repeats: null,
    figures: [
      { label: 'ms, changed', line: spreadAfter('changed: '), goal: atMost(100, ' ms') },
      { label: 'ms, the first', line: /first: (\d+) ms/ },
    ],
  },
  {
    name: 'automations',
    title: 'People who wait in an automation, and who wake together',
    sizes: {
      WAITING: { full: 1_000_000, least: 2_000 },
      WAKING: { full: 100_000, least: 1_000 },
      CHANGES: { full: 100_000, least: 1_000 },
      REST_S: { full: 20, least: 5 },
    },
    repeats: null,
    figures: [
      { label: 'bytes a person who waits', line: /bytes a waiting row: (\d+)/ },
      { label: 'steps/s', line: /woke together: (\d+) steps\/s/ },
    ],
  },
  {
    name: 'reports',
    title: 'Mails to a return path, damaged or made to cost whoever reads them',
    sizes: { REPORTS: { full: 20_000, least: 500 } },
    repeats: 'TIMES',
    figures: [{ label: 'CPU of the slowest, ms', line: /the slowest: ([\d.]+) ms/, goal: atMost(50, ' ms') }],
  },
  {
    name: 'rest',
    title: 'The programs at rest, and how they start',
    sizes: { REST_S: { full: 30, least: 10 } },
    repeats: 'TIMES',
    figures: [
      { label: 'memory of the api, MB', line: /api at rest: (\d+) MB/, goal: atMost(150) },
      { label: 'memory of the worker, MB', line: /worker at rest: (\d+) MB/, goal: atMost(150) },
      { label: 'CPU of the api, % of a core', line: /api at rest: .* ([\d.]+) % of a core/, goal: atMost(1) },
      {
        label: 'CPU of the worker, % of a core',
        line: /worker at rest: .* ([\d.]+) % of a core/,
        goal: atMost(1),
      },
      {
        label: 'statements/s of the worker',
        line: /worker at rest: ([\d.]+) statements/,
        goal: atMost(10),
      },
      { label: 'api starts, s', line: spreadAfter('api starts, s: '), goal: atMost(2.5) },
      { label: 'npm start, warm, s', line: spreadAfter('npm start, warm, s: '), goal: atMost(10) },
    ],
  },
];
