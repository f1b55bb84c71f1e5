import { afterAll, describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import { TOO_MUCH_STYLE, WORST_CONTENT } from '#testing/random/worst-content';
import { parseContentDocument } from '../document/content-document.js';
import { ContentCompileError, MergeTemplateError } from '../content.errors.js';
import { ContentPoolService } from './content-pool.service.js';
import { ContentPools, ContentProcessesService, footerOf } from './content-processes.service.js';
import { Wording } from '#wording';

const scope: ProjectScope = { tenantId: 1, projectId: 1, environmentId: 1, environment: 'LIVE' };
const footer = footerOf({ senderName: 'Acme', postalAddress: '1 Main Street' }, new Wording('en'));
const contentOf = (contentJson: string | null, contentText: string | null = null) => ({
  content: { subject: 'News', previewText: null, contentJson, contentText },
  footer,
  tracking: {
    baseUrl: 'https://m.example',
    shared: {
      campaign: { name: '', key: '' },
      project: { name: '', postal_address: 'Street 1, 10115 Berlin' },
    },
    places: 1_000,
  },
});
const values = {
  subscriber: {
    email: 'ada@example.com',
    external_id: null,
    first_name: 'Ada',
    last_name: null,
    phone: null,
    locale: null,
    time_zone: null,
  },
  custom: {},
  topic: { name: '', key: '' },
  campaign: { name: '', key: '' },
  project: { name: '', postal_address: 'Street 1, 10115 Berlin' },
  links: {
    unsubscribe: 'https://m.example/u',
    preferences: 'https://m.example/p',
    view: 'https://m.example/v',
  },
};

/** A kind of each: of what takes long to compile, to read as a template, and to fill in, and one that ends in time. */
const SOME = ['nested style', 'many open brackets', 'one long condition', 'tables in tables'];
/** Further ones for the full run; the others are for bench/hostile-content.ts. */
const MORE = ['images that each have a page', 'deep wrappers', 'blanks before a merge tag', 'long dates'];
const TRIED = new Set(process.env['FULL'] === undefined ? SOME : [...SOME, ...MORE]);

/** Contents that take about a second together. */
const QUICK = new Set([
  'selectors of many steps',
  'deep wrappers',
  'tables in tables',
  'blanks before a merge tag',
]);

/** Content that is given up is so after less time. */
class ImpatientPools extends ContentPools {
  override readonly compiling = new ContentPoolService({ cpuMs: 1_500, memoryMb: 256 });
  override readonly rendering = new ContentPoolService({ cpuMs: 1_500, memoryMb: 128 });
}

describe('the worst content', () => {
  const processes = new ContentProcessesService(new ImpatientPools());
  afterAll(() => processes.onApplicationShutdown());

  it.each(TOO_MUCH_STYLE)(
    'is refused when it is written where its style is too much: $name',
    ({ contentJson }) => {
      expect(parseContentDocument(contentJson).errors).toEqual({
        'contentJson.blocks[0].mjml': expect.stringMatching(/^is too complex/),
      });
    },
  );

  it.each(WORST_CONTENT.filter(({ name }) => TRIED.has(name)))(
    'ends, and leaves the one that asked for it free meanwhile: $name',
    async ({ contentJson }) => {
      expect(parseContentDocument(contentJson).errors).toBeUndefined();
      const error = await makeMail(processes, contentJson);
      expect(
        error === null || error instanceof ContentCompileError || error instanceof MergeTemplateError,
      ).toBe(true);
    },
  );

  it('takes its turn with that of others: of many at once, none holds up another project', async () => {
    // With all the time that there is: to load what compiles takes about as long as the impatient allow.
    const patient = new ContentProcessesService();
    const ended: string[] = [];
    const hostile = WORST_CONTENT.filter(({ name }) => QUICK.has(name)).map(({ name, contentJson }) =>
      patient.compile(scope, contentOf(contentJson, 'Once more')).then(
        () => ended.push(name),
        () => ended.push(name),
      ),
    );
    const other = { ...scope, projectId: 2 };
    await patient.compile(other, contentOf(null, 'Hello'));
    expect(ended.length).toBeLessThan(2);
    await Promise.all(hostile);
    patient.onApplicationShutdown();
  });
});

/** Throws when the event loop made no turn until it was done, as it makes none for what this process does itself. */
async function elsewhere<Value>(work: Promise<Value>): Promise<Value> {
  let isDone = false;
  void work.then(
    () => (isDone = true),
    () => (isDone = true),
  );
  // Other processes are not heard meanwhile.
  for (let microtasks = 0; microtasks < 1_000; microtasks += 1) await Promise.resolve();
  if (isDone) throw new Error('This process did it.');
  return work;
}

/** Null when it became a mail. */
async function makeMail(processes: ContentProcessesService, contentJson: string): Promise<unknown> {
  try {
    const parts = await elsewhere(processes.compile(scope, contentOf(contentJson)));
    await elsewhere(processes.renderOne(scope, { ...parts, key: contentJson.slice(0, 200) }, values));
    return null;
  } catch (error) {
    return error;
  }
}

describe('the process for content', () => {
  it('is ended when it takes too much, and the next content gets another', async () => {
    const pool = new ContentPoolService({ cpuMs: 1_500, memoryMb: 256 });
    try {
      const terms = Array.from({ length: 40_000 }, () => 'custom.a').join(' or ');
      const done = await pool.run(1, 'fill', { body: [`{% if ${terms} %}x{% endif %}`], values });
      expect(done).toEqual({ fault: expect.objectContaining({ kind: 'too-complex' }), cpuMs: 1_500 });
      const next = await pool.run(1, 'fill', { body: ['Hello {{ subscriber.first_name }}'], values });
      expect(next).toMatchObject({ value: ['Hello Ada'] });
    } finally {
      pool.close();
    }
  });

  it('is ended when it takes too much memory', async () => {
    const pool = new ContentPoolService({ cpuMs: 60_000, memoryMb: 32 });
    try {
      const carousel = WORST_CONTENT.find(({ name }) => name === 'images that each have a page');
      const done = await pool.run(1, 'compile', contentOf(carousel?.contentJson ?? ''));
      expect(done).toMatchObject({ fault: { kind: 'too-complex' } });
      const next = await pool.run(1, 'fill', { body: ['{{ subscriber.first_name }}'], values });
      expect(next).toMatchObject({ value: ['Ada'] });
    } finally {
      pool.close();
    }
  });

  it('tells of a merge tag that is wrong as if it were none', async () => {
    const processes = new ContentProcessesService();
    try {
      const wrong = processes.compile(scope, contentOf(null, 'Hello {{ subscriber.email'));
      await expect(wrong).rejects.toThrow(MergeTemplateError);
      await expect(processes.filled(scope, ['{% if %}'], values)).rejects.toThrow(MergeTemplateError);
    } finally {
      processes.onApplicationShutdown();
    }
  });
});
