import { type DynamicModule, Global, Module, type Type } from '@nestjs/common';
import { DomainValidationError, type ProjectScope } from '#kernel';
import { OptInMails } from './consents/consent.repository.js';
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

interface AudiencePorts {
  readonly subscriberLimit?: Type<SubscriberLimit>;
  readonly features?: Type<AudienceFeatures>;
  readonly optInMails?: Type<OptInMails>;
}

/** Connects the ports of the audience to the contexts that know plans and send mail. */
@Global()
@Module({})
export class AudiencePortsModule {
  /** Takes services that these modules export: the contexts do not know each other. */
  static by(modules: Type[], { subscriberLimit, features, optInMails }: AudiencePorts): DynamicModule {
    const ports = [
      { provide: SubscriberLimit, useExisting: subscriberLimit },
      { provide: AudienceFeatures, useExisting: features },
      { provide: OptInMails, useExisting: optInMails },
    ].filter(({ useExisting }) => useExisting !== undefined);
    const exported = ports.map(({ provide }) => provide);
    return { module: AudiencePortsModule, imports: modules, providers: ports, exports: exported };
  }
}
