import { codeSpan, plainText } from './markdown.js';
import { type Finding, SECTIONS, type Section, type Value } from './finding.js';
import { fillMessage, type ReportLocale } from './report-messages.js';

const LONGEST_QUOTE = 100;
const LONGEST_ADDRESS = 120;

/** Below one percent, one decimal would hide what there is to see. */
const SMALL_SHARE = 0.01;

/** The report as Markdown: a heading for each section, and in each a list, or a sentence that says that it is empty. */
export function reportText(findings: readonly Finding[], locale: ReportLocale): string {
  return `${SECTIONS.map((section) => sectionText(section, findings, locale)).join('\n\n')}\n`;
}

function sectionText(section: Section, findings: readonly Finding[], locale: ReportLocale): string {
  const sentences = findings.filter((one) => one.section === section).map((one) => sentence(one, locale));
  const heading = `## ${messageText(locale, `section.${section}`)}`;
  if (sentences.length === 0) return `${heading}\n\n${messageText(locale, 'nothing')}`;
  const isList = section !== 'recommendation';
  return `${heading}\n\n${sentences.map((text) => (isList ? `- ${text}` : text)).join('\n')}`;
}

function sentence({ message, values }: Finding, locale: ReportLocale): string {
  const valueOf = (name: string): Value => {
    const value = values[name];
    if (value === undefined)
      throw new Error(`The message ${message} has a place for ${name}, which it is not given.`);
    return value;
  };
  return fillMessage(
    locale,
    message,
    (name) => writtenValue(valueOf(name), locale),
    (name) => Number(valueOf(name).value),
  );
}

function messageText(locale: ReportLocale, name: string): string {
  return fillMessage(
    locale,
    name,
    (value) => value,
    () => 0,
  );
}

/** As the locale writes it: `12,345`, `24.3%`, `09:00`. */
export function writtenValue(value: Value, locale: ReportLocale): string {
  switch (value.kind) {
    case 'count':
      return new Intl.NumberFormat(locale.tag).format(value.value);
    case 'share':
      return new Intl.NumberFormat(locale.tag, {
        style: 'percent',
        maximumFractionDigits: value.value < SMALL_SHARE ? 2 : 1,
      }).format(value.value);
    case 'hour':
      return `${String(value.value % 24).padStart(2, '0')}:00`;
    case 'quote':
      return `“${plainText(value.value, LONGEST_QUOTE)}”`;
    case 'address':
      return codeSpan(value.value, LONGEST_ADDRESS);
    case 'message':
      return messageText(locale, value.value);
  }
}
