import type { DeliveryCause, DeliveryRequest, SkipReason } from '#model/delivery'
import type { StoredFunction } from '#model/function'
import type { TriggerNode } from '#model/graph'
import { isBoundTo, type MembersOf } from '#model/group'
import { isMailable } from '#model/mail-address'
import { isPermitted, reachesDevice, reachesService, type Scope } from '#model/scope'
import { mayReadAll, maySubscribe } from '#model/subscription'

/** A subscriber, a function and a request of the function, as they are at this moment. */
export interface MailAccess {
  readonly recipient: StoredRecipient
  /** Undefined if the function was deleted. */
  readonly function: StoredFunction | undefined
  readonly request: Pick<DeliveryRequest, 'device' | 'cause'>
  readonly membersOf: MembersOf
}

/** The stored user behind a subscription. */
export interface StoredRecipient {
  readonly scope: Scope
  /** Whether the user exists and may sign in. */
  readonly isActive: boolean
  /** The mail address; null: the account has none. */
  readonly address: string | null
}

/**
 * The first reason why the subscriber must not receive the request. Undefined if the request may be sent. Contract 5.7.
 */
export function mayReceive({ recipient, function: fn, request, membersOf }: MailAccess): SkipReason | undefined {
  if (!fn?.enabled || !isBoundTo(fn, request.device, membersOf)) return 'unbound'
  const { scope, address, isActive } = recipient
  if (!isActive) return 'disabled'
  if (!mayReceiveFrom(scope, fn, membersOf) || !readsCause(scope, request.device, request.cause)) return 'forbidden'
  if (address === null) return 'no_address'
  return isMailable(address) ? undefined : 'bad_address'
}

/** Whether the subscriber may learn the count of all requests: if they can read every trigger wherever it is bound. */
export function mayReceiveAll(scope: Scope, fn: StoredFunction, membersOf: MembersOf): boolean {
  if (!mayReceiveFrom(scope, fn, membersOf)) return false
  return fn.graph.nodes.every((node) => node.type !== 'trigger' || readsTrigger(scope, fn, node, membersOf))
}

function readsTrigger(scope: Scope, fn: StoredFunction, trigger: TriggerNode, membersOf: MembersOf): boolean {
  switch (trigger.on) {
    case 'property':
      return mayReadAll(scope, 'service', fn, membersOf, trigger.serviceIdentifier)
    case 'alarm':
      return mayReadAll(scope, 'alarms', fn, membersOf)
    case 'status':
      return mayReadAll(scope, 'meta', fn, membersOf)
  }
}

function mayReceiveFrom(scope: Scope, fn: StoredFunction, membersOf: MembersOf): boolean {
  return isPermitted(scope, 'notifications', 'read') && maySubscribe(scope, fn, membersOf)
}

/** Why the author of a function must not send a webhook. Undefined if the webhook may be sent. Contract 5.1, 12. */
export function maySend(
  { scope, function: fn, membersOf }: Pick<MailAccess, 'function' | 'membersOf'> & { readonly scope: Scope },
  { device, cause }: MailAccess['request'],
): 'unbound' | 'forbidden' | undefined {
  if (!fn?.enabled || !isBoundTo(fn, device, membersOf)) return 'unbound'
  const isAllowed = reachesDevice(scope, 'functions', 'read', device) && readsCause(scope, device, cause)
  return isAllowed ? undefined : 'forbidden'
}

/** Whether the reader can read the cause, which is part of the mail or webhook. */
function readsCause(scope: Scope, device: string, cause: DeliveryCause): boolean {
  switch (cause.on) {
    case 'property':
      return reachesService(scope, 'service', 'read', device, cause.service)
    case 'alarm':
      return reachesDevice(scope, 'alarms', 'read', device)
    case 'status':
      return reachesDevice(scope, 'meta', 'read', device)
  }
}
