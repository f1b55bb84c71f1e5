import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import { OperationMetadata } from '../operation/operation.decorator.js';
import type { OperationOptions } from '../operation/operation-options.js';
import { ProblemError } from '../problems/problem-error.js';

/** Lets a key use the operations of its scopes; others are a 403. Routes without `@Operation` are open. */
@Injectable()
export class ScopeGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const operation = this.reflector.get(OperationMetadata, context.getHandler());
    if (operation !== undefined) requireScope(operation, context.switchToHttp().getRequest());
    return true;
  }
}

/** Throws when the operation needs a scope that the request's key does not have. */
export function requireScope({ scope }: OperationOptions, { caller }: FastifyRequest): void {
  if (scope === null || caller?.scopes.has(scope)) return;
  throw new ProblemError('insufficient-scope', {
    detail: `This operation needs the scope ${scope}.`,
    members: { requiredScope: scope },
  });
}
