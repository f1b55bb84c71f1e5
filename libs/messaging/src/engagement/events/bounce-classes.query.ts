import { type RawBuilder, sql } from 'kysely';
import { bounceClassesOf } from '#deliverability';

/** The classes of bounces of which `holds`, for `in (…)`: written out, since partial indexes name them. */
export function bounceClassesIn(holds: Parameters<typeof bounceClassesOf>[0]): RawBuilder<unknown> {
  return sql.join(bounceClassesOf(holds).map((bounceClass) => sql.lit(bounceClass)));
}
