import type { Wording } from '#wording';
import { formatsOf } from './page-formats.js';

/** `12,345` */
export function countText(count: number, wording: Wording): string {
  return formatsOf(wording).count.format(count);
}

/** `24.3%`, with one more decimal below one percent; a dash for a part of nothing. */
export function shareText(part: number, whole: number, wording: Wording): string {
  if (whole <= 0) return '–';
  const share = Math.min(1, part / whole);
  const { share: usual, smallShare } = formatsOf(wording);
  return (share < 0.01 ? smallShare : usual).format(share);
}

/** `1 Mar 2026` for a day, `1 Mar, 09:00` else, in UTC. */
export function momentText(
  at: Date | undefined,
  interval: 'minute' | 'hour' | 'day',
  wording: Wording,
): string {
  if (at === undefined) return '';
  const { shortDay, shortMoment } = formatsOf(wording);
  return (interval === 'day' ? shortDay : shortMoment).format(at);
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
export function dateText(at: Date, wording: Wording): string {
  return formatsOf(wording).moment.format(at);
}
