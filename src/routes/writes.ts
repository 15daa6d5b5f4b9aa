import {
  actionAddress,
  actionPageAddress,
  actionRecord,
  pageDevicesMax,
  pageRecord,
  type StoredPage,
} from '#actors/action/action'
import { desiredOf } from '#actors/device/desired'
import { serviceOf } from '#actors/device/state'
import { tenantAddress } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import * as desired from '#api/desired'
import { nameOfCursor } from '#api/fields'
import * as api from '#api/writes'
import { type Binding, bind, type Call, type Reply } from '#http/call'
import { type ActionBody, type ActionCounts, type DeviceOutcome, type StoredAction, zeroCounts } from '#model/action'
import type { Caller } from '#model/caller'
import { desiredValuesOf } from '#model/desired'
import { randomId, seededRandom } from '#model/identifier'
import { Problem } from '#model/problem'
import { parseWriteKey } from '#model/property-write'
import { reachesEvery, reachesService, servicesOfDevicesWithin, servicesWithin } from '#model/scope'
import { propIdOfName, type ServiceSchema, withoutNames } from '#model/service-schema'
import { isBindingWithin, schemasFor } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { existingDevice } from '#routes/devices'
import { nextLink, streamObjects, textReply } from '#routes/replies'
import { ReadSlices, readTurnsOf } from '#runtime/slices'
import { namesOf, type Pages } from '#runtime/storage'

interface ServicePath {
  readonly deviceIdentifier: string
  readonly serviceIdentifier: string
}

type Values = Readonly<Record<string, unknown>>

/**
 * Routes for write requests to devices, desired values (contract 12), and actions, which change many devices (contract
 * 3.6).
 */
export function writeRoutes(context: RouteContext): Binding[] {
  const read = (call: Call<ServicePath>) => readDesired(context, call)
  const put = (call: Call<ServicePath, unknown, Values>) => setDesired(context, call, call.body, true)
  const patch = (call: Call<ServicePath, unknown, Values>) => setDesired(context, call, call.body, false)
  const remove = async (call: Call<ServicePath>): Promise<Reply> => {
    await setDesired(context, call, {}, true)
    return { status: 204 }
  }
  return [
    bind(api.writeDeviceProperties, (call) => write(context, call)),
    bind(api.writeServiceProperties, (call) => write(context, call)),

    bind(desired.readDeviceDesired, read),
    bind(desired.readServiceDesired, read),
    bind(desired.putDeviceDesired, put),
    bind(desired.putServiceDesired, put),
    bind(desired.patchDeviceDesired, patch),
    bind(desired.patchServiceDesired, patch),
    bind(desired.deleteDeviceDesired, remove),
    bind(desired.deleteServiceDesired, remove),

    bind(api.createAction, (call) => create(context, call)),
    bind(api.readAction, (call) =>
      shownAction(context, call, call.parameters.actionId, existingAction(context, call, call.parameters.actionId)),
    ),
  ]
}

/** The id is derived from the seed of the request, so that a repeated request addresses the same write. Contract 7. */
async function write(
  context: RouteContext,
  call: Call<ServicePath, { readonly wait?: boolean | undefined }, Values>,
): Promise<Reply> {
  const { deviceIdentifier: device, serviceIdentifier: service } = call.parameters
  const { tenant, user, session } = call.caller
  const isWaiting = call.query.wait ?? true
  const outcome = await context.devices.links.writes.ask({
    tenant,
    ...(session && { user }),
    device,
    service,
    values: call.body,
    schema: schemaOf(context, call.caller, service),
    id: `w:${Buffer.from(call.seed).toString('base64url')}`,
    isWaiting,
    isRepeated: call.isRepeated,
  })
  // Some devices do not answer writes. Contract 10.
  const isAnswered = isWaiting && outcome.updates.every(({ status }) => status !== 'SENT')
  return { status: isAnswered ? 200 : 202, json: outcome }
}

async function readDesired(context: RouteContext, { caller, parameters }: Call<ServicePath>): Promise<Reply> {
  const { deviceIdentifier, serviceIdentifier } = parameters
  const state = existingDevice(context, caller.tenant, deviceIdentifier)
  if (!serviceOf(state, serviceIdentifier)) throw new Problem('not_found')
  return textReply(context, JSON.stringify(desiredValuesOf(desiredOf(state, serviceIdentifier))))
}

/** The id is derived from the seed of the request, so that a repeated request sends no second WRITE. */
async function setDesired(
  context: RouteContext,
  { caller, parameters, bodyBytes, seed }: Call<ServicePath>,
  values: Values,
  isWhole: boolean,
): Promise<Reply> {
  const { deviceIdentifier: device, serviceIdentifier: service } = parameters
  const { tenant, scope } = caller
  const schema = schemaOf(context, caller, service)
  context.events.streamShare.take(caller, bodyBytes.byteLength)
  const id = Buffer.from(seed).toString('base64url')
  const command = { type: 'set_desired', service, values, isWhole, schema, id } as const
  const items = await context.devices.links.writes.desired.set(tenant, device, command, bodyBytes.byteLength)
  const mayRead = reachesService(scope, 'service', 'read', device, service)
  return { status: 200, json: mayRead ? desiredValuesOf(items) : {} }
}

/** The schema that checks the values; without its names if the caller may not read it. */
function schemaOf(context: RouteContext, { tenant, scope }: Caller, service: string): ServiceSchema | undefined {
  const schema = context.system.wake(tenantAddress(tenant)).schemas.get(service)
  return schema && !servicesWithin(scope, 'schemas', 'read')(service) ? withoutNames(schema) : schema
}

async function create(context: RouteContext, call: Call<unknown, unknown, ActionBody>): Promise<Reply> {
  const { caller, body, seed, isRepeated } = call
  const { tenant, user: author } = caller
  const id = randomId(seededRandom(seed))
  // A repeated request only means that the client missed the answer: the action continues, even if its groups have
  // changed.
  if (!isRepeated || actionOf(context, tenant, id)?.createdBy !== author) {
    const { serviceIdentifier, updates } = body
    const desired = body.desired ? { desired: true as const } : {}
    const devices = targetDevices(caller, context.system.wake(tenantAddress(tenant)), body)
    await context.devices.actions.begin({ tenant, id, author, serviceIdentifier, updates, ...desired, devices })
  }
  return { status: 202, headers: { Location: `/api/v1/devices/actions/${id}` }, json: { id } }
}

/** The devices by name and by current group members. @throws Problem `not_found`, `property_unknown` */
function targetDevices(caller: Caller, tenant: TenantState, body: ActionBody): readonly (readonly string[])[] {
  const { groups } = tenant
  const { serviceIdentifier, devices = [] } = body
  const members = (body.groups ?? []).map((id) => {
    const group = groups.get(id)
    if (!group || !mayName(caller, group.devices, serviceIdentifier)) throw new Problem('not_found')
    return group.devices
  })
  const schema = schemasFor(caller, tenant).get(serviceIdentifier)
  for (const text of Object.keys(body.updates)) {
    const key = parseWriteKey(text)
    if ('name' in key && (!schema || propIdOfName(schema, key.name) === undefined)) {
      throw new Problem('property_unknown', `there is no property ${text.slice(0, keyCharactersMax)}`)
    }
  }
  return [devices, ...members]
}

/** Keys in error answers are cut at this length, the maximum of a name. */
const keyCharactersMax = 256

/** Whether the caller may read a group with these devices, or may name all of them one by one. */
function mayName({ scope }: Caller, devices: readonly string[], service: string): boolean {
  return (
    isBindingWithin(scope, 'functions', 'read', devices) || reachesEvery(scope, 'service', 'update', devices, service)
  )
}

/** @throws Problem `not_found` */
function existingAction(context: RouteContext, { caller }: Call, id: string): StoredAction {
  const action = actionOf(context, caller.tenant, id)
  if (!action) throw new Problem('not_found')
  return action
}

function actionOf({ system }: RouteContext, tenant: string, id: string): StoredAction | undefined {
  return system.recordOf(actionAddress(tenant, id), actionRecord) as StoredAction | undefined
}

interface PageQuery {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** The result of each device; undefined: pending. */
type Rows = ReadonlyMap<string, DeviceOutcome | undefined>

/**
 * The answer about an action. It contains and counts only devices whose service the requester may read now. The counts
 * are read first, so the listed devices of a running action may show more progress than the counts.
 *
 * @throws Problem `not_found` if the action has devices, but the requester may read none of them
 */
async function shownAction(
  context: RouteContext,
  call: Call<unknown, PageQuery>,
  id: string,
  action: StoredAction,
): Promise<Reply> {
  const { limit } = call.query
  const devices = new ActionDevices(context, call, id, action)
  const { counts, first, isMore } = await devices.readCounts()
  if (counts.total === 0 && action.total > 0) throw new Problem('not_found')
  const { serviceIdentifier, updates, createdBy, createdAt, isDone, desired } = action
  if (desired) counts.applied = counts.OK
  const state = isDone ? 'done' : 'running'
  const head = { id, state, createdAt, createdBy, serviceIdentifier, updates, ...(desired && { desired }), counts }
  const frame = { before: `${JSON.stringify(head).slice(0, -1)},"devices":[`, after: ']}' }
  const { caller } = call
  if (limit === undefined) {
    return { status: 200, chunks: streamObjects(context, caller, devices, frame, (name) => devices.textOf(name)) }
  }
  const names = [...first.keys()]
  const chunks = streamObjects(context, caller, namesOf(names), frame, (name) => textOf(name, first.get(name)))
  return { status: 200, headers: isMore ? nextLink(call, names.at(-1) ?? '') : {}, chunks }
}

/** The devices of an action, page by page, as stored. */
class ActionDevices implements Pages {
  readonly #context: RouteContext
  readonly #call: Call<unknown, PageQuery>
  readonly #id: string
  readonly #pageCount: number
  readonly #isVisible: (device: string) => boolean
  /** The list continues after this name. */
  readonly #after: string
  #next = 0
  #rows: Rows = new Map()

  constructor(context: RouteContext, call: Call<unknown, PageQuery>, id: string, action: StoredAction) {
    this.#context = context
    this.#call = call
    this.#id = id
    this.#pageCount = Math.ceil(action.total / pageDevicesMax)
    const isWithin = servicesOfDevicesWithin(call.caller.scope, 'service', 'read')
    this.#isVisible = (device) => isWithin(device, action.serviceIdentifier)
    this.#after = nameOfCursor(call.query.cursor)
  }

  /** Counts all devices that the requester may see, and reads the first ones, up to the limit of the query. */
  async readCounts(): Promise<{ readonly counts: ActionCounts; readonly first: Rows; readonly isMore: boolean }> {
    const { world, system } = this.#context
    const { caller, query } = this.#call
    const { closedCount } = system.gate
    const counts = zeroCounts()
    const first = new Map<string, DeviceOutcome | undefined>()
    let isMore = false
    const slices = new ReadSlices(world, caller)
    for (let page = 0; page < this.#pageCount; page++) {
      if (slices.isOver) await slices.next()
      for (const [device, outcome] of this.#rowsOf(page)) {
        counts.total++
        counts[outcome?.status ?? 'PENDING']++
        if (query.limit === undefined || device <= this.#after) continue
        if (first.size < query.limit) first.set(device, outcome)
        else isMore = true
      }
    }
    await system.gate.whenStored(closedCount)
    return { counts, first, isMore }
  }

  /** The names of one page: their texts are requested before the next page. */
  async next(): Promise<readonly string[]> {
    while (this.#next < this.#pageCount) {
      this.#rows = this.#rowsOf(this.#next++)
      const names = [...this.#rows.keys()].filter((device) => device > this.#after)
      if (names.length > 0) return names
      // There may be many pages without a visible device.
      await readTurnsOf(this.#context.world).next(this.#call.caller)
    }
    return []
  }

  async close(): Promise<void> {}

  textOf(device: string): string {
    return textOf(device, this.#rows.get(device))
  }

  #rowsOf(page: number): Rows {
    const address = actionPageAddress(this.#call.caller.tenant, this.#id, page)
    const stored = this.#context.system.recordOf(address, pageRecord) as StoredPage | undefined
    const rows = (stored?.devices ?? []).map((device, place) => [device, stored?.outcomes[place] ?? undefined] as const)
    return new Map(rows.filter(([device]) => this.#isVisible(device)))
  }
}

function textOf(deviceIdentifier: string, outcome: DeviceOutcome | undefined): string {
  return JSON.stringify({ deviceIdentifier, ...(outcome ?? { status: 'PENDING' }) })
}
