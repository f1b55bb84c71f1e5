import type { RawBuilder } from 'kysely';
import { DomainValidationError, type ProjectScope } from '#kernel';

const FEATURES = { customFields: 'custom fields', advancedSegments: 'segments with rules' } as const;

export type AudienceFeature = keyof typeof FEATURES;

/** A tenant's plan: a port of whoever knows plans. Without plans all features are included, and there is no limit. */
export abstract class AudiencePlan {
  abstract allows(scope: ProjectScope, feature: AudienceFeature): Promise<boolean>;

  /** SQL: subscribers in the live environments of all the tenant's projects together (bigint); −1 is unlimited. */
  abstract maxSubscribers(scope: ProjectScope): RawBuilder<number>;
}

/** Throws DomainValidationError when the plan does not include the feature. */
export async function refuseUnlessIncluded(
  plan: AudiencePlan | undefined,
  scope: ProjectScope,
  feature: AudienceFeature,
): Promise<void> {
  if (plan === undefined || (await plan.allows(scope, feature))) return;
  throw new DomainValidationError({ plan: `the plan does not include ${FEATURES[feature]}` });
}
