import { createHash } from 'node:crypto'
import type { Call, Reply } from '#http/call'
import type { RouteContext } from '#routes/context'

/**
 * The position that an answer reflects at least: what live sockets have been told. Read it at the beginning, and resume
 * from there: nothing is missed. Contract 3.4.
 */
export function streamHeaders({ reader, system }: RouteContext, tenant: string): Record<string, string> {
  return { 'Stream-Epoch': reader.epoch, 'Stream-Offset': String(system.registry.head(tenant).released) }
}

/** Weak, of what decides the answer: the position, who asks, and for what. */
export function etagOf(context: RouteContext, call: Call): string {
  const { 'Stream-Epoch': epoch, 'Stream-Offset': offset } = streamHeaders(context, call.caller.tenant)
  const { tenant, scope } = call.caller
  const { silentChanges } = context.system.registry.head(tenant)
  const asked = JSON.stringify([tenant, scope.fingerprint, call.target.path, call.target.query, silentChanges])
  const hash = createHash('sha256').update(asked).digest('base64url').slice(0, 16)
  return `W/"${epoch}.${offset}.${hash}"`
}

/** 304 when the client has this very answer; undefined when it has to be made. */
export function notModified(context: RouteContext, call: Call): Reply | undefined {
  const asked = call.header('if-none-match')
  if (asked === '') return undefined
  const etag = etagOf(context, call)
  const isKnown = asked === '*' || asked.split(',').some((known) => known.trim() === etag)
  if (!isKnown) return undefined
  return { status: 304, headers: { ETag: etag, ...streamHeaders(context, call.caller.tenant) } }
}
