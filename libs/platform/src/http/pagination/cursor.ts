import { z } from 'zod';
import type { Cursor, Place } from '#kernel';

type PlaceSchema = z.ZodType<Place[number]>;

const FAULT = 'must be the next of a page of this list';

/** What lists are sorted by, as it is in cursors. */
export const PLACES = {
  // A year that PostgreSQL knows; microseconds, which a Date has not.
  time: z.iso.datetime({ offset: true }).regex(/^[12]/),
  id: z.guid(),
  number: z.int(),
  text: z.string().max(1_000),
};

/** As clients get it, who need not know what is in it. */
export function writeCursor({ page, totalElements, place }: Cursor): string {
  return Buffer.from(JSON.stringify([page, totalElements, ...place])).toString('base64url');
}

/** The cursor of a list that is sorted by `place`; null at its beginning. */
export function cursorField(place: readonly PlaceSchema[]): z.ZodType<Cursor | null, string> {
  const content = z.tuple([z.int().min(0), z.int().min(0)], z.unknown());
  return z.string().transform((text, context): Cursor | null => {
    if (text === '') return null;
    const parsed = content.safeParse(jsonOf(text));
    if (parsed.success) {
      const [page, totalElements, ...values] = parsed.data;
      const at = z.tuple([place[0]!, ...place.slice(1)]).safeParse(values);
      if (at.success && writeCursor({ page, totalElements, place: at.data }) === text)
        return { page, totalElements, place: at.data };
    }
    context.addIssue({ code: 'custom', message: FAULT });
    return z.NEVER;
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}
