import { createHmac } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';

/** Block of SHA-256, octets. */
const BLOCK = 64;
/** Bits of a hash that place a person in the test, and as many that choose the variant. */
const BITS = 24;

interface AssignedTest {
  readonly campaignId: string;
  /** Percent of the audience. */
  readonly sharePercent: number;
  readonly variants: number;
}

/**
 * Expression for the number of a person's variant in a campaign's test, from 1; null: they wait for the winner. By HMAC-SHA-256
 * (RFC 2104) of their id with a key of the campaign: always the same, and not to be told from the ids. PostgreSQL itself has `sha256` alone.
 */
export function variantOf(
  secret: string,
  { campaignId, sharePercent, variants }: AssignedTest,
  subscriberId: RawBuilder<unknown>,
): RawBuilder<number | null> {
  const purpose = createHmac('sha256', secret).update('mailwright.variants.v1').digest();
  const key = Buffer.concat([createHmac('sha256', purpose).update(campaignId).digest()], BLOCK);
  const [inner, outer] = [0x36, 0x5c].map((pad) => Buffer.from(key.map((octet) => octet ^ pad)));
  return sql<number | null>`(
    select case when bits.share * 100 < ${sharePercent}::bigint << ${sql.lit(BITS)}
      then 1 + (bits.choice * ${variants}::bigint >> ${sql.lit(BITS)}) end::smallint
    from (select encode(sha256(${outer}::bytea || sha256(${inner}::bytea || uuid_send(${subscriberId}))), 'hex') as hex
      offset 0) hash
    cross join lateral (select ('x' || left(hash.hex, 6))::bit(24)::int::bigint as share,
      ('x' || substr(hash.hex, 7, 6))::bit(24)::int::bigint as choice) bits
  )`;
}
