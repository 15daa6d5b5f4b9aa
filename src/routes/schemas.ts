import { tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/schemas'
import { permit, putAction } from '#http/authentication'
import { type Binding, bind } from '#http/call'
import { Problem } from '#model/problem'
import { servicesWithin } from '#model/scope'
import type { ServiceSchema } from '#model/service-schema'
import type { RouteContext } from '#routes/context'
import {
  etagOf,
  mustMatch,
  notModified,
  resourceListReply,
  resourceReply,
  streamHeaders,
  textReply,
} from '#routes/replies'

/** Routes for schemas. They are few and in memory. */
export function schemaRoutes(context: RouteContext): Binding[] {
  const { system } = context
  return [
    bind(api.listSchemas, (call) => {
      const unchanged = notModified(context, call)
      if (unchanged) return unchanged
      const { caller, query } = call
      const { schemas } = context.system.wake(tenantAddress(caller.tenant))
      const headers = { ...streamHeaders(context, caller.tenant), ETag: etagOf(context, call) }
      const isWithin = servicesWithin(caller.scope, 'schemas', 'read')
      const isWhole = (query.depth ?? 0) > 0
      return resourceListReply(context, call, schemas, {
        headers,
        isShown: (_, name) => isWithin(name),
        textOf: (name, schema) => schemaText(name, isWhole ? schema : undefined),
      })
    }),

    bind(api.readSchema, (call) => {
      const { serviceIdentifier } = call.parameters
      const schema = context.system.wake(tenantAddress(call.caller.tenant)).schemas.get(serviceIdentifier)
      if (!schema) throw new Problem('not_found')
      return resourceReply(context, call, schemaText(serviceIdentifier, schema))
    }),

    bind(api.putSchema, async (call) => {
      const { caller, parameters, body: schema, bodyBytes } = call
      const { serviceIdentifier } = parameters
      await system.askAtOnce(() => {
        const before = context.system.wake(tenantAddress(caller.tenant)).schemas.get(serviceIdentifier)
        permit({ resource: 'schemas', action: putAction(before !== undefined), within: 'service' }, caller, parameters)
        mustMatch(call, () => before && schemaText(serviceIdentifier, before))
        context.events.streamShare.take(caller, bodyBytes.byteLength)
        return {
          to: tenantAddress(caller.tenant),
          command: { type: 'put_schema', service: serviceIdentifier, schema },
          bytes: bodyBytes.byteLength,
        }
      })
      return textReply(context, schemaText(serviceIdentifier, schema))
    }),

    bind(api.deleteSchema, async (call) => {
      const { tenant } = call.caller
      const { serviceIdentifier } = call.parameters
      await system.askAtOnce(() => {
        const before = context.system.wake(tenantAddress(tenant)).schemas.get(serviceIdentifier)
        if (before) mustMatch(call, () => schemaText(serviceIdentifier, before))
        return { to: tenantAddress(tenant), command: { type: 'delete_schema', service: serviceIdentifier } }
      })
      return { status: 204 }
    }),
  ]
}

function schemaText(serviceIdentifier: string, schema: ServiceSchema | undefined): string {
  const identifier = `{"serviceIdentifier":${JSON.stringify(serviceIdentifier)}`
  return schema ? `${identifier},"schema":${textOfSchema(schema)}}` : `${identifier}}`
}

/** Schemas are immutable and replaced as a whole: each is converted to text once. */
const texts = new WeakMap<ServiceSchema, string>()

function textOfSchema(schema: ServiceSchema): string {
  let text = texts.get(schema)
  if (text === undefined) {
    text = JSON.stringify(schema)
    texts.set(schema, text)
  }
  return text
}
