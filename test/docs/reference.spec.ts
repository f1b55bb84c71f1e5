import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { API_SCOPES } from '#kernel';
import { collectProcessMetrics, HttpMetrics, JobMetrics, MailMetrics } from '#platform';
import { PROBLEM_TYPES } from '#platform/http';
import { FeedbackMetrics } from '../../libs/deliverability/src/relays/feedback-events.service.js';
import { CRITICAL_WEIGHTS, WARNING_WEIGHTS } from '../../libs/deliverability/src/pre-send/pre-send-check.js';
import { DANGEROUS_CSS } from '../../libs/messaging/src/content/document/css-sanitizer.js';
import {
  ATTRIBUTES,
  BLOCK_TAGS,
  INLINE_TAGS,
} from '../../libs/messaging/src/content/document/inert-elements.js';
import { MJML_TAGS } from '../../libs/messaging/src/content/document/mjml-sanitizer.js';
import { OtlpTracer } from '../../libs/platform/src/otlp-tracer.js';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { run } from '../../apps/cli/src/program.js';

function read(file: string): string {
  return readFileSync(join(projectRoot(), file), 'utf8');
}

/** Texts in backticks in the first column of the page's tables, as far as they fit the pattern. */
function firstColumn(file: string, pattern: RegExp): string[] {
  const cells = [...read(file).matchAll(/^\| `([^`]+)` \|/gm)].map(([, text = '']) => text);
  return cells.filter((text) => pattern.test(text)).sort();
}

describe('the reference tables are complete and hold nothing else', () => {
  it('of metrics, in docs/operations.md', () => {
    const registry = new Registry();
    for (const Metrics of [FeedbackMetrics, HttpMetrics, JobMetrics, MailMetrics]) new Metrics(registry);
    const replica = { answered: { replica: 0, primary: 0 } };
    collectProcessMetrics(registry, { pool: new pg.Pool(), replica });
    const tracing = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_HEADERS: undefined,
      OTEL_SERVICE_NAME: undefined,
      OTEL_TRACES_SAMPLER: 'always_off',
      OTEL_TRACES_SAMPLER_ARG: 1,
    } as const;
    new OtlpTracer(tracing, { name: 'spec', registry, logger: pino({ enabled: false }) });
    const ours = registry.getMetricsAsArray().filter(({ name }) => name.startsWith('mailwright_'));
    expect(firstColumn('docs/operations.md', /^mailwright_/)).toEqual(ours.map(({ name }) => name).sort());
  });

  it('of commands, in docs/operations.md', async () => {
    let help = '';
    const terminal = { env: {}, print: (text: string) => (help += text), complain: () => undefined };
    expect(await run(['--help'], terminal)).toBe(0);
    // The programs of the npm package are in docs/install-npm.md.
    const [ofOperators = ''] = help.split('\nPrograms ');
    const commands = [...ofOperators.matchAll(/^ {2}([a-z][a-z:-]*) .*$/gm)].map(([, name = '']) => name);
    expect(commands.length).toBeGreaterThan(0);
    expect(
      firstColumn(
        'docs/operations.md',
        /^(?:help|migrate|distribute|isolate|doctor|completion|[a-z-]+:[a-z-]+)$/,
      ),
    ).toEqual(commands.sort());
  });

  it('of scopes, in docs/api.md', () => {
    expect(firstColumn('docs/api.md', /^[a-z_]+:(?:read|write|send|manage)$/)).toEqual(
      [...API_SCOPES].sort(),
    );
  });

  it('of elements, attributes and CSS that stay or go, in docs/content.md', () => {
    const rows = new Map(
      [...read('docs/content.md').matchAll(/^\| ([A-Z][^|]*?) +\| (.*) \|$/gm)].map(
        ([, name = '', cell = '']) => [name, [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word)],
      ),
    );
    expect(rows.get('Elements of a `text` block')).toEqual(INLINE_TAGS);
    expect(rows.get('Elements of an `html` block, on top')).toEqual(BLOCK_TAGS);
    expect(rows.get('Elements of an `mjml` block, on top')).toEqual(MJML_TAGS);
    expect(rows.get('Attributes of any element')).toEqual([...ATTRIBUTES, 'aria-', 'data-']);
    expect(rows.get('Rules')).toEqual(DANGEROUS_CSS.rules.map((name) => `@${name}`));
    expect(rows.get('Properties')).toEqual(DANGEROUS_CSS.properties);
    const values = [
      ...DANGEROUS_CSS.functions.map((name) => `${name}()`),
      'position',
      ...DANGEROUS_CSS.positions,
      'url()',
    ];
    expect(rows.get('Values')).toEqual(values);
  });

  it('of checks, in docs/pre-send.md, with their weights', () => {
    const weights = { ...CRITICAL_WEIGHTS, ...WARNING_WEIGHTS };
    const rows = [...read('docs/pre-send.md').matchAll(/^\| `([a-z-]+)` +\| (\d+) +\|/gm)];
    expect(Object.fromEntries(rows.map(([, code, weight]) => [code, Number(weight)]))).toEqual(weights);
  });

  it('of problems, in docs/api.md', () => {
    const slugs = Object.keys(PROBLEM_TYPES).sort();
    expect(firstColumn('docs/api.md', /^[a-z]+(?:-[a-z]+)*$/)).toEqual(slugs);
  });
});
