import type { Environment } from '#kernel';
import type { DeliveryClaimsQuery, SinglesKind } from './delivery-claims.query.js';
import type { DeliveryKind } from '../../deliveries/delivery.js';
import type { DeliveryPacing } from '../pacing/delivery-pacing.service.js';
import type {
  DeliverySource,
  DeliveryWork,
  PreparedDelivery,
  SinglesPreparation,
} from '../delivery-source.js';

/** Who makes the mails of each kind that is sent one by one. */
export type SinglesPreparations = Readonly<Partial<Record<DeliveryKind, SinglesPreparation>>>;

/** Mails that belong to no campaign's sending, of all projects, in one kind of environment. */
export class SinglesSource implements DeliverySource {
  constructor(
    private readonly environment: Environment,
    private readonly which: SinglesKind,
    private readonly claims: DeliveryClaimsQuery,
    private readonly preparations: SinglesPreparations,
    private readonly pacing: DeliveryPacing,
  ) {}

  async claim(limit: number, leaseToken: string): Promise<DeliveryWork[]> {
    const singles = await this.claims.claimSingles(this.environment, this.which, limit, leaseToken);
    return singles.map((single) => ({ ...single, ambiguousPolicy: 'RESEND', usagePeriod: null }));
  }

  async prepare(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    // Whether what may have arrived is sent again is not a question of the turn.
    const fresh = works.filter(({ delivery }) => !delivery.interrupted);
    const { going, held } = await this.pacing.admitSingles(fresh, this.which);
    const interrupted = works.filter(({ delivery }) => delivery.interrupted);
    return [...held, ...(await this.#compose([...interrupted, ...going]))];
  }

  async #compose(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    const byKind = Map.groupBy(works, ({ delivery }) => delivery.kind);
    const prepared = await Promise.all(
      [...byKind].map(([kind, ofKind]) => this.#preparationOf(kind).prepare(ofKind)),
    );
    const byId = new Map(prepared.flat().map((one) => [one.delivery.id, one]));
    return works.flatMap(({ delivery }) => byId.get(delivery.id) ?? []);
  }

  #preparationOf(kind: DeliveryKind): SinglesPreparation {
    const preparation = this.preparations[kind];
    if (preparation === undefined) throw new Error(`Nobody makes mails of the kind ${kind}.`);
    return preparation;
  }
}
