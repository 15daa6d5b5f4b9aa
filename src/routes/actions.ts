import * as api from '#api/writes'
import { type StoredPage, actionAddress, actionPageAddress, actionRecord, pageDevicesMax, pageRecord } from '#actors/action/action'
import { tenantAddress } from '#actors/tenant/commands'
import type { TenantState } from '#actors/tenant/state'
import { nameOfCursor } from '#api/fields'
import { type Binding, type Call, type Reply, bind } from '#http/call'
import { type ActionBody, type ActionCounts, type DeviceOutcome, type StoredAction, zeroCounts } from '#model/action'
import type { Caller } from '#model/caller'
import { randomId, seededRandom } from '#model/identifier'
import { Problem } from '#model/problem'
import { parseWriteKey } from '#model/property-write'
import { reachesEvery, servicesOfDevicesWithin } from '#model/scope'
import { propIdOfName } from '#model/service-schema'
import { isBindingWithin, schemasFor } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { nextLink, streamObjects } from '#routes/list-reply'
import { ReadSlices } from '#routes/read-slices'
import { readTurnsOf } from '#runtime/read-turns'
import { type Pages, namesOf } from '#runtime/storage'

/** Routes for actions, which change many devices, and for their results. Contract 3.6. */
export function actionRoutes(context: RouteContext): Binding[] {
  return [
    bind(api.createAction, (call) => create(context, call)),
    bind(api.readAction, (call) =>
      shownAction(context, call, call.parameters.actionId, existingAction(context, call, call.parameters.actionId)),
    ),
  ]
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
    await context.actions.begin({ tenant, id, author, serviceIdentifier, updates, ...desired, devices })
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
