import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, projectRoot } from '#platform';
import { parseReportMessages, type ReportLocale } from '../analyst/report-messages.js';

const FILE = /^(?<tag>[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*)\.json$/;

/** The locales that there is a file of messages for: `locales/campaign-report/<tag>.json`. */
export function reportLocaleTags(): string[] {
  return readdirSync(directory())
    .map((file) => FILE.exec(file)?.groups?.['tag'])
    .filter((tag) => tag !== undefined)
    .sort();
}

/** Reads one locale. Throws a `ConfigurationError` that names those which there are, when there is none of that tag. */
export function loadReportLocale(tag: string): ReportLocale {
  const known = reportLocaleTags();
  if (!known.includes(tag)) {
    throw new ConfigurationError([`AI_REPORT_LOCALE must be one of ${known.join(', ')}, there is no ${tag}`]);
  }
  return { tag, messages: parseReportMessages(readFileSync(join(directory(), `${tag}.json`), 'utf8')) };
}

function directory(): string {
  return join(projectRoot(), 'locales/campaign-report');
}
