import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import * as api from '#api/templates'
import { putAction } from '#http/authentication'
import { type Binding, bind } from '#http/call'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { type Action, isPermitted, reachesEvery } from '#model/scope'
import { type StoredTemplate, templateEntryOf } from '#model/template'
import type { RouteContext } from '#routes/context'
import { tenantResources } from '#routes/tenant-resources'

/** Routes for mail templates. Contract 5.5. */
export function templateRoutes(context: RouteContext): Binding[] {
  const { system } = context
  const templates = tenantResources<StoredTemplate>(context, {
    path: '/templates',
    all: (tenant) => tenant.templates,
    isVisible: ({ scope }, action) => isPermitted(scope, 'functions', action),
    entryOf: (name, stored, tenant) => templateEntryOf(tenant, name, stored),
  })
  return [
    bind(api.listTemplates, templates.list),

    bind(api.readTemplate, (call) => templates.read(call, call.parameters.name)),

    bind(api.putTemplate, async (call) => {
      const { caller, body, bodyBytes } = call
      const { tenant, user } = caller
      const { name } = call.parameters
      const stored = await system.askAtOnce(() => {
        const before = context.system.wake(tenantAddress(tenant)).templates.get(name)
        mustReachAll(caller, putAction(before !== undefined))
        templates.mustMatchTag(call, name, before)
        const put: TenantCommand = { type: 'put_template', name, body, author: user }
        return { to: tenantAddress(tenant), command: put, bytes: bodyBytes.byteLength }
      })
      return templates.changed(call, name, stored)
    }),

    bind(api.deleteTemplate, (call) => {
      const { name } = call.parameters
      mustReachAll(call.caller, 'delete')
      return templates.remove(call, name, { type: 'delete_template', name })
    }),
  ]
}

/**
 * Every function may use a template, so the author of a template must reach all devices. @throws Problem `forbidden`
 */
function mustReachAll({ scope }: Caller, action: Action): void {
  if (!reachesEvery(scope, 'functions', action, '*')) throw new Problem('forbidden')
}
