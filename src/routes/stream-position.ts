import { createHash } from 'node:crypto'
import type { Call, Reply } from '#http/call'
import type { RouteContext } from '#routes/context'

/**
 * The position that an answer includes at least: events already published. Read it first, and resume from there; then
 * no event is missed. Contract 3.4.
 */
export function streamHeaders({ reader, system }: RouteContext, tenant: string): Record<string, string> {
  return { 'Stream-Epoch': reader.epoch, 'Stream-Offset': String(system.registry.head(tenant).released) }
}

/** Weak; made of everything that determines the answer: the position, the caller and the request. */
export function etagOf(context: RouteContext, call: Call): string {
  const { 'Stream-Epoch': epoch, 'Stream-Offset': offset } = streamHeaders(context, call.caller.tenant)
  const { tenant, scope } = call.caller
  const { silentChanges } = context.system.registry.head(tenant)
  const requested = JSON.stringify([tenant, scope.fingerprint, call.target.path, call.target.query, silentChanges])
  const hash = createHash('sha256').update(requested).digest('base64url').slice(0, 16)
  return `W/"${epoch}.${offset}.${hash}"`
}

/** 304 if the client has this version of the answer; otherwise undefined. */
export function notModified(context: RouteContext, call: Call): Reply | undefined {
  const requested = call.header('if-none-match')
  if (requested === '') return undefined
  const etag = etagOf(context, call)
  const isKnown = requested === '*' || requested.split(',').some((known) => known.trim() === etag)
  if (!isKnown) return undefined
  return { status: 304, headers: { ETag: etag, ...streamHeaders(context, call.caller.tenant) } }
}
