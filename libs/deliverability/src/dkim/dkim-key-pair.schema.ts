import { defineEntity, p } from '@mikro-orm/postgresql';
import type { DkimAlgorithm } from './dkim-key.js';
import { DkimKeyPair, type DkimKeyState } from './dkim-key-pair.js';

/** deliverability.dkim_keys; their private halves are read by who signs alone. */
export const DkimKeyPairSchema = defineEntity({
  class: DkimKeyPair,
  tableName: 'dkim_keys',
  schema: 'deliverability',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    environmentId: p.bigint('number'),
    domainId: p.bigint('number'),
    selector: p.text(),
    algorithm: p.string().$type<DkimAlgorithm>(),
    publicKey: p.text(),
    privateKeyBox: p.text().lazy(),
    state: p.string().$type<DkimKeyState>(),
    createdAt: p.datetime(3),
    retiredAt: p.datetime(3).nullable(),
  },
});
