import { type DynamicModule, Global, Module, type Type } from '@nestjs/common';
import { AudienceFeatures } from './audience-features.js';
import { SubscriberLimit } from './subscriber-limit.js';

/** The services that know tenants' plans. */
interface PlanPorts {
  readonly subscriberLimit: Type<SubscriberLimit>;
  readonly features: Type<AudienceFeatures>;
}

/** Tells the audience what tenants' plans allow. */
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
