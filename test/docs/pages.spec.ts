import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { openApiDocument } from '#testing/http/openapi-validation';
import { type SharedSystem, sharedSystem } from '#testing/programs/system';

const ROOT = projectRoot();
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const FILES = globSync('docs/{,relays/,guides/}*.md', { cwd: ROOT });
/** Characters of a page of the documentation or the reference, uncompressed. */
const LARGEST_PAGE = 500_000;
const NAMES = [...FILES.map((file) => file.replace(/^docs\/|\.md$/g, '')), 'sdk'].sort();

describe('the documentation as the api shows it', () => {
  let system: SharedSystem;
  const pages = new Map<string, string>();

  beforeAll(async () => {
    system = await sharedSystem();
    const document = await openApiDocument(system.baseUrl);
    const areas = [...(document.tags ?? []).map(({ name }) => name), 'Events'];
    const reference = areas.map((name) => `/docs/reference/${name.toLowerCase().replaceAll(' ', '-')}`);
    for (const path of ['/docs', '/docs/reference', ...reference, ...NAMES.map((name) => `/docs/${name}`)]) {
      const answer = await get(path);
      expect([path, answer.status, answer.headers.get('content-type')]).toEqual([
        path,
        200,
        'text/html; charset=utf-8',
      ]);
      pages.set(path, await answer.text());
    }
  });

  afterAll(() => system?.stop());

  const get = (path: string) => fetch(`${system.baseUrl}${path}`);

  it('lists every page in llms.txt, with what it is about', async () => {
    const contents = await (await get('/llms.txt')).text();
    expect(contents).toBe(read('docs/llms.txt'));
    const listed = [...contents.matchAll(/^- \[[^\]]+\]\(\/docs\/([a-z/-]+)\.md\): \S/gm)];
    expect(listed.map(([, name = '']) => name).sort()).toEqual(NAMES);
  });

  it('needs nothing from elsewhere: no script, no font, no style sheet', () => {
    for (const [path, page] of pages) {
      // Code is shown, not loaded.
      const outsideCode = page.replaceAll(/<code[^>]*>.*?<\/code>/gs, '');
      const loaded = [...outsideCode.matchAll(/(?:rel="stylesheet" href|src)="([^"]*)|@import|url\(/g)].map(
        ([all, source]) => source ?? all,
      );
      const ours = /^\/docs\/(?:docs\.(?:js|css)\?[\w-]+|images\/[\w-]+\.(?:svg|png))$/;
      expect([path, loaded.filter((source) => !ours.test(source))]).toEqual([path, []]);
      expect([path, page.length < LARGEST_PAGE]).toEqual([path, true]);
      expect(page).toContain('name="viewport"');
      expect([path, [...page.matchAll(/<h1/g)].length]).toEqual([path, 1]);
    }
  });

  it('lets its pages run our scripts alone', async () => {
    for (const path of pages.keys()) {
      const policy = (await get(path)).headers.get('content-security-policy') ?? '';
      expect([path, policy.split('; ').slice(0, 2)]).toEqual([
        path,
        ["default-src 'none'", "script-src 'self'"],
      ]);
    }
    for (const [name, type] of [
      ['docs.js', 'text/javascript; charset=utf-8'],
      ['docs.css', 'text/css; charset=utf-8'],
    ] as const) {
      const asset = await get(`/docs/${name}`);
      expect([asset.headers.get('content-type'), await asset.text()]).toEqual([type, read(`assets/${name}`)]);
    }
  });

  const found = async (query: string) => {
    const page = await (await get(`/docs/search?q=${encodeURIComponent(query)}`)).text();
    return [...page.matchAll(/<li>\s*<a href="([^"]+)">[^<]+<\/a>\s*(?:<span|<p)/g)].map(
      ([, href]) => href ?? '',
    );
  };

  it('finds words, by their beginnings too, and leads to their headings', async () => {
    expect((await found('rate limit'))[0]).toBe('/docs/api#rate-limit');
    expect(await found('the limit of a rate')).toEqual(await found('limit rate'));
    expect(await found('PAGE_LIMIT_PER_MIN')).toContain('/docs/configuration#page_limit_per_minute');
    expect(await found('erase a subscriber')).toContain('/docs/reference/subscribers#eraseSubscriber');
    for (const href of await found('campaign')) {
      const [page = '', anchor] = href.split('#');
      expect([href, pages.get(page)?.includes(anchor === undefined ? '<h1' : `id="${anchor}"`)]).toEqual([
        href,
        true,
      ]);
    }
  });

  it.each([
    ['createSubscriber', '/docs/reference/subscribers#createSubscriber'],
    ['creat subscribr', '/docs/reference/subscribers#createSubscriber'],
    ['scheduledAtLocal', '/docs/reference/campaigns#createCampaign'],
    ['SMTP_URL', '/docs/configuration#SMTP_URL'],
    ['email.bounced', '/docs/reference/events#email.bounced'],
    ['GDPR', '/docs/privacy#the-gdpr-right-by-right'],
    ['double opt-in', '/docs/privacy#double-opt-in'],
    ['dubble opt-in', '/docs/privacy#double-opt-in'],
    ['gpdr', '/docs/privacy#the-gdpr-right-by-right'],
    ['smpt', '/docs/configuration#SMTP_URL'],
    ['dkmi', '/docs/dkim'],
    ['how do i unsubscribe someone', '/docs/reference/events#email.unsubscribed'],
    ['key:create', '/docs/operations#key:create'],
  ])('finds %s', async (query, expected) => {
    expect((await found(query)).slice(0, 6)).toContain(expected);
  });

  it('answers in JSON while somebody types', async () => {
    const answer = await fetch(`${system.baseUrl}/docs/search?q=rate%20lim`, {
      headers: { accept: 'application/json' },
    });
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    const findings = (await answer.json()) as { address: string; heading: string; excerpt: string[] }[];
    expect(findings[0]).toMatchObject({ address: '/docs/api#rate-limit', heading: 'Rate limit' });
    expect(findings.length).toBeLessThanOrEqual(8);
  });

  it.each(['', 'xyzzyx', '<xyzzyx>', 'how do i', '('])('finds nothing for %j', async (query) => {
    expect(await found(query)).toEqual([]);
  });

  it('takes signs for what they are', async () => {
    for (const [query, tag] of [
      ['$MAILWRIGHT_KEY <b>', '<b>'],
      ['<script>alert(1)</script>', '<script>'],
    ] as const) {
      const page = await get(`/docs/search?q=${encodeURIComponent(query)}`);
      expect([page.status, await page.text()]).toEqual([200, expect.not.stringContaining(tag)]);
    }
  });

  it('has links that lead to pages and headings that are there', () => {
    const faults: string[] = [];
    for (const [path, page] of pages) {
      for (const [, href = ''] of page.matchAll(/href="([^"]+)"/g)) {
        const inRepository = /^https:\/\/github\.com\/mailwright\/mailwright\/blob\/main\/([^#]+)/.exec(
          href,
        )?.[1];
        if (inRepository !== undefined && !existsSync(join(ROOT, inRepository)))
          faults.push(`${path}: ${href}`);
        if (/^(?:https?:|data:)/.test(href)) continue;
        const [target = '', anchor] = href.split('#');
        const there = pages.get(target === '' ? path : target);
        const isFile =
          /^\/(?:openapi\.json|llms\.txt|favicon\.ico|problems\/[a-z-]+|docs\/(?:search|docs\.css\?.+|images\/.+|[a-z/-]+\.(?:md|yml|json)))$/.test(
            target,
          );
        if (there === undefined && !isFile) faults.push(`${path}: ${href}`);
        if (there !== undefined && anchor !== undefined && !there.includes(`id="${anchor}"`))
          faults.push(`${path}: ${href}`);
      }
    }
    expect(faults).toEqual([]);
  });

  it('leads to the repository for what it does not serve', () => {
    expect(pages.get('/docs/audit')).toContain(
      '<a href="https://github.com/mailwright/mailwright/blob/main/docs/internals/decisions/audit-chain-afterwards.md">',
    );
  });

  it('names commands by how Mailwright was installed, wherever it writes them as in a clone', () => {
    const without = [...pages].filter(
      ([, page]) => page.includes('npm run cli --') && !page.includes('<code>npx mailwright</code>'),
    );
    expect(without.map(([path]) => path)).toEqual([]);
  });

  it('has the pictures that it shows and links to', async () => {
    const named = [...pages.values()].flatMap((page) => [
      ...page.matchAll(/(?:src|href)="(\/docs\/images\/[^"]+)"/g),
    ]);
    const files = new Set(named.map(([, file = '']) => file));
    expect(files.size).toBeGreaterThan(5);
    for (const file of files) {
      const { status, headers } = await get(file);
      const type = file.endsWith('.svg') ? 'image/svg+xml' : 'image/png';
      expect([file, status, headers.get('content-type')]).toEqual([file, 200, type]);
    }
    expect((await get('/docs/images/unknown.png')).status).toBe(404);
  });

  it('leads from a page in a folder to those above it and beside it', () => {
    expect(pages.get('/docs/relays/smtp')).toContain('href="/docs/sending-domains#which-records-are-needed"');
    expect(pages.get('/docs/relays/smtp')).toContain('href="/docs/relays/postfix"');
    expect(pages.get('/docs/relays')).toContain('href="/docs/relays/ses"');
  });

  it('gives each page as Markdown too, and the files for monitoring', async () => {
    for (const [path, file] of [
      ['/docs/quickstart.md', 'docs/quickstart.md'],
      ['/docs/relays/ses.md', 'docs/relays/ses.md'],
      ['/docs/sdk.md', 'packages/sdk/README.md'],
      ['/docs/alerts.yml', 'docs/alerts.yml'],
      ['/docs/grafana-dashboard.json', 'docs/grafana-dashboard.json'],
    ] as const)
      expect(await (await get(path)).text()).toBe(read(file));
  });

  it.each([
    '/docs/nope',
    '/docs/relays/nope',
    '/docs/internals/queue',
    '/docs/openapi.json',
    '/docs/..%2fpackage.json',
    '/docs/quickstart.md.md',
    '/docs/nope/',
  ])('has nothing at %s', async (path) => {
    expect((await get(path)).status).toBe(404);
  });

  it.each([
    ['/docs/', '/docs'],
    ['/docs/quickstart/', '/docs/quickstart'],
    ['/docs/relays/ses/', '/docs/relays/ses'],
    ['/docs/reference/?a=b', '/docs/reference?a=b'],
  ])('leads from %s to the page', async (path, page) => {
    const answer = await fetch(`${system.baseUrl}${path}`, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([301, page]);
  });

  it('is in the npm package, whose sources are in the image', () => {
    const parts = /const PARTS =\s+'([^']+)'/.exec(read('config/pack.js'))?.[1]?.split(' ') ?? [];
    expect(parts).toEqual(expect.arrayContaining(['docs', 'packages/sdk/README.md']));
    const kept = read('.dockerignore').split('\n');
    const roots = parts.map((part) => `!${part.split('/')[0]}`).filter((root) => root !== '!dist');
    expect(roots.filter((root) => !kept.includes(root))).toEqual([]);
  });
});
