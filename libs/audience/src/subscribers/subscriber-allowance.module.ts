import { type DynamicModule, Global, Module, type Type } from '@nestjs/common';
import { SubscriberAllowance } from './subscriber-allowance.js';

/** Tells the audience what tenants' plans allow. */
@Global()
@Module({})
export class SubscriberAllowanceModule {
  /** By a service that a module exports: whoever puts the contexts together knows both, and they not each other. */
  static by(module: Type, service: Type<SubscriberAllowance>): DynamicModule {
    return {
      module: SubscriberAllowanceModule,
      imports: [module],
      providers: [{ provide: SubscriberAllowance, useExisting: service }],
      exports: [SubscriberAllowance],
    };
  }
}
