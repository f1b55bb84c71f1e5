import { type RawBuilder, sql } from 'kysely';
import { hostName, offsetOf, type PageRequest, type ProjectScope } from '#kernel';
import { limitOf, neverJoined, NEWEST_FIRST } from '#platform';

/** The number of matches above which reading the list finds the first page sooner than sorting the matches. */
const MANY = 20_000;
/** The most rows of the list to read. */
const WALK = 5_000;

/** The searched columns of `b`, with the index for each. */
interface Place {
  readonly place: 'address' | 'first name' | 'last name';
  readonly begins: RawBuilder<boolean>;
}

/**
 * The rest of a WITH: `n`, one row with the `total` of subscribers whose address or name begins with `q`, and `p`, the `id`s on
 * the page in no order. Each column is counted in its index; rows of the two with fewer matches say who was counted twice.
 */
export function searched(scope: ProjectScope, q: string, request: PageRequest): RawBuilder<unknown> {
  const places = placesOf(q);
  const size = request.size + 1;
  return sql`
    ${request.after ? sql`n as materialized (select ${request.after.totalElements}::bigint as total)` : counted(scope, places)},
    ${offsetOf(request) === 0 ? walked(scope, places, request) : sql`w as (select null::uuid as id where false)`},
    p as (
      select id from w where (select count(*) from w) = ${size}
      union all
      select id from (
        select f.id, f.created_at from (${foundIn(scope, places, request)}) f where (select count(*) from w) < ${size}
        order by f.created_at desc, f.id desc ${limitOf(request)}
      ) sorted
    )
  `;
}

function counted(scope: ProjectScope, places: readonly Place[]): RawBuilder<unknown> {
  const count = ({ place, begins }: Place) =>
    sql`select ${place}::text as place, count(*) as found from ${subscribers(scope)} and ${begins}`;
  const doubles = places.map(
    ({ place, begins }) =>
      sql`select b.id from ${subscribers(scope)} and ${begins} and ${place}::text <> (select place from most)`,
  );
  return sql`
    found as materialized (${sql.join(places.map(count), sql` union all `)}),
    most as materialized (select place from found order by found desc, place limit 1),
    n as materialized (select (select sum(found) from found)::bigint - (
      select coalesce(sum(x.times - 1), 0) from (${sql.join(doubles, sql` union `)}) s
      cross join lateral (
        select ${sql.join(
          places.map(({ begins }) => sql`coalesce(${begins}, false)::int`),
          sql` + `,
        )} as times
        from audience.subscribers b where b.environment_id = ${scope.environmentId} and b.id = s.id ${neverJoined}
      ) x
    )::bigint as total)
  `;
}

/** Each match behind the cursor once, as `id` and `created_at`. */
export function everyoneFound(scope: ProjectScope, q: string, request: PageRequest): RawBuilder<unknown> {
  return foundIn(scope, placesOf(q), request);
}

/** The first `most` matches behind the cursor, in no order; twice who is found in two places. */
export function foundUpTo(
  scope: ProjectScope,
  q: string,
  request: PageRequest,
  most: number,
): RawBuilder<unknown> {
  return sql`${foundIn(scope, placesOf(q), request, sql` union all `)} limit ${most}`;
}

/** Condition: a row `b` is found by `q`. */
export function isFound(q: string): RawBuilder<boolean> {
  return foundInAny(placesOf(q));
}

function foundInAny(places: readonly Place[]): RawBuilder<boolean> {
  return sql<boolean>`(${sql.join(
    places.map(({ begins }) => begins),
    sql` or `,
  )})`;
}

/** Rows of the newest subscribers behind the cursor, as many as are read rather than sorting the matches. */
export function newestBehind(scope: ProjectScope, request: PageRequest): RawBuilder<unknown> {
  return sql`select b.* from ${subscribers(scope)} and ${NEWEST_FIRST.isBehind(request)}
    order by b.created_at desc, b.id desc limit ${WALK}`;
}

/** The first of many matches, found among the newest subscribers. */
function walked(scope: ProjectScope, places: readonly Place[], request: PageRequest): RawBuilder<unknown> {
  return sql`w as materialized (
    select b.id from (
      select * from ${subscribers(scope)} and ${NEWEST_FIRST.isBehind(request)} and (select total from n) > ${MANY}
      order by b.created_at desc, b.id desc limit ${WALK}
    ) b
    where ${foundInAny(places)}
    order by b.created_at desc, b.id desc ${limitOf(request)}
  )`;
}

function foundIn(
  scope: ProjectScope,
  places: readonly Place[],
  request: PageRequest,
  together = sql` union `,
): RawBuilder<unknown> {
  return sql.join(
    places.map(
      ({ begins }) =>
        sql`select b.id, b.created_at from ${subscribers(scope)} and ${begins} and ${NEWEST_FIRST.isBehind(request)}`,
    ),
    together,
  );
}

function subscribers({ environmentId }: ProjectScope): RawBuilder<unknown> {
  return sql`audience.subscribers b where b.environment_id = ${environmentId}`;
}

/** No text of these columns with a given prefix sorts after the prefix followed by this character. */
const LAST_CHARACTER = '\u{10ffff}';

function placesOf(q: string): readonly Place[] {
  const begins = (column: RawBuilder<unknown>, from: RawBuilder<unknown>) =>
    sql<boolean>`(${column} >= ${from} and ${column} < ${from} || ${LAST_CHARACTER})`;
  const key = sql`b.email_key`;
  const whole = begins(key, sql`${addressPrefix(q)}::text`);
  const stem = internationalStem(q);
  const address =
    stem === null
      ? whole
      : sql<boolean>`(${whole} or (${begins(key, sql`${stem}::text`)} and starts_with(lower(b.email), lower(${q.normalize('NFC')}))))`;
  return [
    { place: 'address', begins: address },
    { place: 'first name', begins: begins(sql`b.first_name_key`, sql`lower(${q})`) },
    { place: 'last name', begins: begins(sql`b.last_name_key`, sql`lower(${q})`) },
  ];
}

/** The beginning of the keys of addresses that begin with `q`: a whole international domain becomes its A-labels. */
function addressPrefix(q: string): string {
  const at = q.lastIndexOf('@');
  const domain = at === -1 ? null : hostName(q.slice(at + 1));
  return domain === null ? q.toLowerCase() : `${q.slice(0, at).toLowerCase()}@${domain}`;
}

/**
 * The beginning of the keys of addresses whose domain is cut inside an international label; null without such a label. The
 * A-label of an incomplete label is unknown (RFC 5891 §4.4), except for its prefix.
 */
function internationalStem(q: string): string | null {
  const at = q.lastIndexOf('@');
  const foreign = at === -1 ? -1 : q.slice(at).search(/[^\p{ASCII}]/u);
  if (foreign === -1) return null;
  const ascii = q.slice(0, at + foreign);
  return `${ascii.slice(0, Math.max(at, ascii.lastIndexOf('.')) + 1).toLowerCase()}xn--`;
}
