const COUNT = new Intl.NumberFormat('en');
const SHARE = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
const SMALL_SHARE = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 2 });
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const TIME = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});

/** `12,345` */
export function countText(count: number): string {
  return COUNT.format(count);
}

/** `24.3%`, with one more decimal below one percent; a dash for a part of nothing. */
export function shareText(part: number, whole: number): string {
  if (whole <= 0) return '–';
  const share = Math.min(1, part / whole);
  return (share < 0.01 ? SMALL_SHARE : SHARE).format(share);
}

/** `1 Mar 2026` for a day, `1 Mar, 09:00` else, in UTC. */
export function momentText(at: Date | undefined, interval: 'minute' | 'hour' | 'day'): string {
  if (at === undefined) return '';
  return (interval === 'day' ? DAY : TIME).format(at);
}

const TAG = /\{\{-?([\s\S]*?)-?\}\}|\{%[\s\S]*?%\}/g;
const DEFAULT = /\|\s*default:\s*(?:"([^"]*)"|'([^']*)')/;

/** A subject rendered for an unknown reader: `Hello {{ … | default: "you" }}` is `Hello you`. */
export function subjectText(subject: string): string {
  return subject
    .replaceAll(TAG, (_, output: string | undefined) => {
      if (output === undefined) return '';
      const [, double, single] = DEFAULT.exec(output) ?? [];
      return double ?? single ?? '…';
    })
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** `1 Mar 2026, 09:00 UTC` */
export function dateText(at: Date): string {
  return `${DAY.format(at)}, ${at.toISOString().slice(11, 16)} UTC`;
}
