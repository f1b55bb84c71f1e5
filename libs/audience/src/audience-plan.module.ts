import { type DynamicModule, Global, Module, type Type } from '@nestjs/common';
import { DomainValidationError, type ProjectScope } from '#kernel';
import { SubscriberLimit } from './subscriber-limit.service.js';

const FEATURES = { customFields: 'custom fields', advancedSegments: 'segments with rules' } as const;

export type AudienceFeature = keyof typeof FEATURES;

/** The features that a tenant's plan includes: a port of whoever knows plans. Without plans, all features are included. */
export abstract class AudienceFeatures {
  abstract allows(scope: ProjectScope, feature: AudienceFeature): Promise<boolean>;
}

/** Throws DomainValidationError when the plan does not include the feature. */
export async function refuseUnlessIncluded(
  features: AudienceFeatures | undefined,
  scope: ProjectScope,
  feature: AudienceFeature,
): Promise<void> {
  if (features === undefined || (await features.allows(scope, feature))) return;
  throw new DomainValidationError({ plan: `the plan does not include ${FEATURES[feature]}` });
}

/** The services that know tenants' plans. */
interface PlanPorts {
  readonly subscriberLimit: Type<SubscriberLimit>;
  readonly features: Type<AudienceFeatures>;
}

/** Provides what tenants' plans allow of the audience. */
@Global()
@Module({})
export class AudiencePlanModule {
  /** Takes services that another module exports: the contexts do not know each other. */
  static by(module: Type, { subscriberLimit, features }: PlanPorts): DynamicModule {
    return {
      module: AudiencePlanModule,
      imports: [module],
      providers: [
        { provide: SubscriberLimit, useExisting: subscriberLimit },
        { provide: AudienceFeatures, useExisting: features },
      ],
      exports: [AudienceFeatures, SubscriberLimit],
    };
  }
}
