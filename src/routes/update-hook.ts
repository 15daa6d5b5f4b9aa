import { projectDeviceIndex } from '#actors/device/firmware-index'
import { isTenantThere } from '#actors/directory/queries'
import { projectAddress } from '#actors/project/address'
import { defaultTenant } from '#actors/tenant/address'
import * as api from '#api/update-hook'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { parseJson } from '#http/json-body'
import { unauthenticated } from '#model/caller'
import { deviceIdentifierOf, isShortName } from '#model/identifier'
import { Problem } from '#model/problem'
import type { RouteContext } from '#routes/context'
import { isHookSigned } from '#routes/hook-signature'

/** Who hears the update server. Contract 6, Hook. */
export function updateHookRoutes(context: RouteContext): Binding[] {
  return [bind(api.callUpdateHook, (call) => hear(context, call, call.parameters.projectIdentifier))]
}

/** So many are gone through by their names; where there are more, all are. */
const namedMax = 10_000

/** At once is when it is stored: going through the devices takes as long as it takes. */
async function hear(context: RouteContext, call: Call, project: string): Promise<Reply> {
  const { caller } = call
  const isSigned = caller === unauthenticated
  if (isSigned) checkSignature(context, call)
  const { tenant, devices } = meant(call.bodyBytes, isSigned ? defaultTenant : caller.tenant)
  const isReached = isSigned ? isTenantThere(context.system, tenant) : tenant === caller.tenant
  if (!isReached || !isShortName(project)) return { status: 204 }
  context.firmware.checks.forgetProject(tenant, project)
  if (await hasDevices(context, tenant, project)) {
    const request = { by: 'hook', devices, author: isSigned ? null : caller.user } as const
    await context.system.ask(projectAddress(tenant, project), { type: 'scan', request })
  }
  return { status: 204 }
}

/** @throws Problem `unauthorized`, also where no secret is set: then nobody can sign */
function checkSignature({ firmware: { hookSecret }, world }: RouteContext, call: Call): void {
  const signed = { path: call.target.path, body: call.bodyBytes }
  // What anybody knows signs nothing.
  const isGood =
    hookSecret !== undefined &&
    hookSecret !== '' &&
    isHookSigned(call.header(api.hookSignatureHeader), signed, hookSecret, world.now())
  if (!isGood) throw new Problem('unauthorized', 'invalid hook signature')
}

interface Meant {
  readonly tenant: string
  /** Null: all of the project. */
  readonly devices: readonly string[] | null
}

/** What a body does not say means the whole project; it is never a reason to refuse. A tenant that is none is nobody's. */
function meant(bytes: Uint8Array, ownTenant: string): Meant {
  const { tenant = ownTenant, devices } = fieldsOf(bytes)
  return { tenant: typeof tenant === 'string' ? tenant : '', devices: namesOf(devices) }
}

function fieldsOf(bytes: Uint8Array): { readonly tenant?: unknown; readonly devices?: unknown } {
  try {
    return Object(parseJson(bytes))
  } catch (error) {
    if (error instanceof Problem) return {}
    throw error
  }
}

function namesOf(devices: unknown): readonly string[] | null {
  if (!Array.isArray(devices) || devices.length > namedMax) return null
  const names = devices.map((name) => (typeof name === 'string' ? deviceIdentifierOf(name) : undefined))
  const known = new Set(names.filter((name) => name !== undefined))
  return names.includes(undefined) ? null : [...known]
}

/** A project that no device is of is stored nowhere for it. */
async function hasDevices({ listing }: RouteContext, tenant: string, project: string): Promise<boolean> {
  const pages = listing.entries(projectDeviceIndex, tenant, `${project}/`)
  try {
    return (await pages.next(1)).length > 0
  } finally {
    await pages.close()
  }
}
