import { Module } from '@nestjs/common';
import { BillingModule } from '#billing';
import { CreditsController } from './credits.controller.js';

@Module({ imports: [BillingModule], controllers: [CreditsController] })
export class BillingApiModule {}
