import { DomainValidationError, type ProjectScope } from '#kernel';

export type AudienceFeature = 'customFields' | 'advancedSegments';

/** The features that a tenant's plan includes: a port of whoever knows plans. Without plans, all features are included. */
export abstract class AudienceFeatures {
  abstract allows(scope: ProjectScope, feature: AudienceFeature): Promise<boolean>;
}

const NAMES: Readonly<Record<AudienceFeature, string>> = {
  customFields: 'custom fields',
  advancedSegments: 'segments with rules',
};

/** Throws DomainValidationError when the plan does not include the feature. */
export async function refuseUnlessIncluded(
  features: AudienceFeatures | undefined,
  scope: ProjectScope,
  feature: AudienceFeature,
): Promise<void> {
  if (features === undefined || (await features.allows(scope, feature))) return;
  throw new DomainValidationError({ plan: `the plan does not include ${NAMES[feature]}` });
}
