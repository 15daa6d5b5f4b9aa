import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/templates'
import { putAction } from '#http/authentication'
import { type Binding, bind } from '#http/call'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { type Action, isPermitted, reachesEvery } from '#model/scope'
import { type StoredTemplate, templateEntryOf } from '#model/template'
import { replyToChange } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { mustMatch, resourceListReply, resourceReply } from '#routes/replies'

/** Routes for mail templates. Contract 5.5. */
export function templateRoutes(context: RouteContext): Binding[] {
  const { system } = context
  return [
    bind(api.listTemplates, (call) => {
      const { tenant } = call.caller
      return resourceListReply(context, call, context.system.wake(tenantAddress(tenant)).templates, {
        isShown: () => true,
        textOf: (name, stored) => textOf(tenant, name, stored),
      })
    }),

    bind(api.readTemplate, (call) => {
      const { tenant } = call.caller
      const { name } = call.parameters
      return resourceReply(context, call, textOf(tenant, name, existingTemplate(context, tenant, name)))
    }),

    bind(api.putTemplate, async (call) => {
      const { caller, body, bodyBytes } = call
      const { tenant, user } = caller
      const { name } = call.parameters
      const stored = await system.askAtOnce(() => {
        const before = context.system.wake(tenantAddress(tenant)).templates.get(name)
        mustReachAll(caller, putAction(before !== undefined))
        mustMatch(call, () => before && textOf(tenant, name, before))
        const put: TenantCommand = { type: 'put_template', name, body, author: user }
        return { to: tenantAddress(tenant), command: put, bytes: bodyBytes.byteLength }
      })
      const mayRead = isPermitted(caller.scope, 'functions', 'read')
      return replyToChange(mayRead, templateEntryOf(tenant, name, stored as StoredTemplate), 'resourceIdentifier')
    }),

    bind(api.deleteTemplate, async (call) => {
      const { tenant } = call.caller
      const { name } = call.parameters
      mustReachAll(call.caller, 'delete')
      await system.askAtOnce(() => {
        const template = existingTemplate(context, tenant, name)
        mustMatch(call, () => textOf(tenant, name, template))
        return { to: tenantAddress(tenant), command: { type: 'delete_template', name } }
      })
      return { status: 204 }
    }),
  ]
}

/**
 * Every function may use a template, so the author of a template must reach all devices. @throws Problem `forbidden`
 */
function mustReachAll({ scope }: Caller, action: Action): void {
  if (!reachesEvery(scope, 'functions', action, '*')) throw new Problem('forbidden')
}

/** @throws Problem `not_found` */
function existingTemplate(context: RouteContext, tenant: string, name: string): StoredTemplate {
  const stored = context.system.wake(tenantAddress(tenant)).templates.get(name)
  if (!stored) throw new Problem('not_found')
  return stored
}

function textOf(tenant: string, name: string, stored: StoredTemplate): string {
  return JSON.stringify(templateEntryOf(tenant, name, stored))
}
