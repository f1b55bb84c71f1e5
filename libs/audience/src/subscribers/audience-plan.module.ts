import { type DynamicModule, Global, Module, type Type } from '@nestjs/common';
import { AudienceFeatures } from '../features/audience-features.js';
import { SubscriberAllowance } from './subscriber-allowance.js';

/** Who answers for tenants' plans. */
interface PlanPorts {
  readonly allowance: Type<SubscriberAllowance>;
  readonly features: Type<AudienceFeatures>;
}

/** Tells the audience what tenants' plans allow. */
@Global()
@Module({})
export class AudiencePlanModule {
  /** By services that a module exports: whoever puts the contexts together knows both, and they not each other. */
  static by(module: Type, { allowance, features }: PlanPorts): DynamicModule {
    return {
      module: AudiencePlanModule,
      imports: [module],
      providers: [
        { provide: SubscriberAllowance, useExisting: allowance },
        { provide: AudienceFeatures, useExisting: features },
      ],
      exports: [AudienceFeatures, SubscriberAllowance],
    };
  }
}
