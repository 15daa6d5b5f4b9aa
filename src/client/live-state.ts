import { followDesired } from '#client/device-desired'
import { readHistory } from '#client/device-history'
import { type ClientContext, EventStream } from '#client/event-stream'
import { deviceList, Fleet, metaList } from '#client/fleet'
import { alarmList, schemaList, subscriptionList, updateList } from '#client/lazy-lists'
import { Listeners, LiveMap, type Observable, type ObservableMap, ObservableValue } from '#client/observable'
import { pauseMs } from '#client/problem'
import { removalChecks } from '#client/removal-checks'
import { requestOf } from '#client/requests'
import { may, type Session } from '#client/session'
import type {
  AlarmStatus,
  Connection,
  DeviceView,
  FirmwareView,
  LiveDevice,
  Position,
  Schema,
  State,
  StateOptions,
  Subscription,
} from '#client/state'
import { type ListKind, SyncedList, type WatchedDevices } from '#client/synced-list'
import type { EventOf, StreamEvent } from '#model/event'

/** The functions of the client that a state uses. */
export interface StateContext extends ClientContext {
  readonly session: Observable<Session>
  closed(state: LiveState): void
}

/** The number of devices that are kept if only watched devices are read, so that rows that reappear are shown at once. */
const keptMax = 2_000

/** Longer lists of names do not fit into a URL. The client then receives all events, and drops most of them. */
const namesCharactersMax = 4_000

/** The silence after which a request for the server's current offset fails. */
const offsetTimeoutMs = 15_000

/**
 * The state of a tenant: lists that are read once and kept current by one event stream. `State` describes the contract.
 */
export class LiveState implements State {
  readonly connection: ObservableValue<Connection>
  readonly ready: Promise<void>
  readonly #context: StateContext
  readonly #options: StateOptions
  readonly #stream: EventStream
  readonly #fleet: Fleet
  readonly #lists: SyncedList[] = []
  readonly #deviceList: SyncedList | undefined
  /** The lists that are read on first use, by the functions that make them. */
  readonly #lazyLists = new Map<unknown, LiveMap<string, unknown>>()
  readonly #byType = new Map<string, SyncedList[]>()
  readonly #listeners = new Listeners<[StreamEvent]>()
  readonly #missed = new Listeners<[]>()
  readonly #unsubscribe: (() => void)[] = []
  readonly #removalChecks: ReturnType<typeof removalChecks>
  position: Position | undefined
  /** The user that this state belongs to, once known. */
  #user: string | undefined
  #isClosed = false

  constructor(options: StateOptions, context: StateContext) {
    const { platform, session } = context
    this.#context = context
    this.#options = options
    this.connection = new ObservableValue<Connection>({ state: 'connecting', since: context.now() })
    this.#fleet = new Fleet(platform.nextFrame)
    const { depth = 2, devices, services } = options
    const named = devices === 'watched' ? [] : devices?.map((device) => device.toUpperCase())
    for (const device of named ?? []) this.#fleet.devices.subscribeKey(device, () => {})
    const watched = devices && this.#fleet
    this.#fleet.devices.onWatch = watched && (() => this.#deviceWatched())
    const scope = { depth, devices: watched, services: services && new Set(services) }
    this.#deviceList = this.#add(deviceList(this.#fleet, scope), watched)
    this.#add(metaList(this.#fleet, scope), watched)
    this.#removalChecks = removalChecks(platform, this.#checkRemoved, () => this.#silentDevices())
    this.#stream = new EventStream({
      ...context,
      connection: this.connection,
      query: this.#query(named),
      received: (event) => this.#received(event),
      startOver: (offset) => this.#startOver(offset),
      whenCaughtUp: (signal) => this.#whenCaughtUp(signal),
      ended: (problem) => this.#ended(problem),
    })
    this.ready = this.#whenReady()
    this.#unsubscribe.push(session.subscribe(() => this.#sessionChanged(session.value)))
    this.#unsubscribe.push(platform.whenOnline(() => this.#stream.reconnectNow()))
    if (!this.#sessionChanged(session.value)) this.#stream.start()
  }

  get devices(): ObservableMap<string, DeviceView> {
    return this.#fleet.devices
  }

  get schemas(): ObservableMap<string, Schema> {
    return this.#lazyList(schemaList)
  }

  get alarms(): ObservableMap<string, AlarmStatus> {
    return this.#lazyList(alarmList)
  }

  get updates(): ObservableMap<string, FirmwareView> {
    return this.#lazyList(updateList)
  }

  get subscriptions(): ObservableMap<string, Subscription> {
    return this.#lazyList(subscriptionList)
  }

  device(name: string): LiveDevice {
    const deviceIdentifier = name.toUpperCase()
    const device = this.#fleet.devices.at(deviceIdentifier)
    const { platform, read } = this.#context
    const source = {
      platform,
      read,
      events: (listener: (event: StreamEvent) => void) => this.#listeners.add(listener),
      missed: (listener: () => void) => this.#missed.add(listener),
    }
    return {
      get value() {
        return device.value
      },
      subscribe: (listener) => device.subscribe(listener),
      history: (serviceIdentifier, properties, options = {}) =>
        readHistory(source, { deviceIdentifier, serviceIdentifier, properties, options }),
      desired: (serviceIdentifier, changed) => followDesired(source, { deviceIdentifier, serviceIdentifier }, changed),
    }
  }

  events(listener: (event: StreamEvent) => void): () => void {
    return this.#listeners.add(listener)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#halt()
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.connection.set({ state: 'closed', since: this.#context.now() })
    this.#context.closed(this)
  }

  #received(event: StreamEvent): void {
    for (const list of this.#byType.get(event.type) ?? []) list.received(event)
    this.#updatePosition()
    this.#rereadConnecting(event)
    if (isRemoval(event)) this.#removalChecks.add((event as EventOf<'OBJECT_UPDATED'>).deviceIdentifier)
    this.#listeners.notify(event)
  }

  #startOver(offset: number): void {
    for (const list of this.#lists) list.startOver(offset)
    this.#missed.notify()
  }

  async #whenCaughtUp(signal: AbortSignal): Promise<number> {
    const wasSynced = this.#lists.every((list) => list.isSynced)
    while (!signal.aborted && !this.#lists.every((list) => list.isSynced)) {
      await Promise.race([Promise.all(this.#lists.map((list) => list.whenSynced())), aborted(signal)])
    }
    this.#updatePosition()
    if (!signal.aborted) void this.#removalChecks.watchSilent()
    const read = Math.max(0, ...this.#lists.map(({ readAt }) => readAt ?? 0))
    return wasSynced && !signal.aborted ? this.#serverOffset(signal, read) : read
  }

  #ended(problem: Error): void {
    this.#halt()
    this.connection.set({ state: 'closed', since: this.#context.now(), problem })
  }

  /**
   * A device that connects may have declared properties without values, which no event reports. So a device with
   * listeners is read again.
   */
  #rereadConnecting(event: StreamEvent): void {
    const isConnecting = event.type === 'DEVICE_ADD' || event.type === 'DEVICE_DISCOVERY' || isOnline(event)
    if (!isConnecting || (this.#options.depth ?? 2) < 2) return
    const { deviceIdentifier } = event as EventOf<'DEVICE_ADD'>
    if (this.#fleet.devices.isWatched(deviceIdentifier)) void this.#deviceList?.readAgain([deviceIdentifier])
  }

  readonly #checkRemoved = async (devices: readonly string[]): Promise<void> => {
    const known = devices.filter((device) => this.#fleet.devices.has(device))
    await Promise.all((this.#byType.get('DEVICE_DELETE') ?? []).map((list) => list.readAgain(known)))
  }

  /** Devices whose deletion no event reports: they have no services, and the caller has no `read` on `device`. */
  #silentDevices(): string[] {
    const { value: session } = this.#context.session
    return [...this.#fleet.devices.keys()].filter(
      (deviceIdentifier) =>
        this.#fleet.devices.get(deviceIdentifier)?.services.size === 0 &&
        !may(session, 'device', 'read', { deviceIdentifier }),
    )
  }

  /** The server's current offset. Needed if no list was read on this connection, whose answer would contain it. */
  async #serverOffset(signal: AbortSignal, read: number): Promise<number> {
    const { platform } = this.#context
    for (let attempt = 1; !signal.aborted; attempt++) {
      const statuses = new Set<number | undefined>()
      for (const { kind } of this.#lists) {
        const query = { ...kind.query, depth: 0, limit: kind.firstLimit && 1 }
        const request = requestOf(kind.route, { query, signal, silenceMs: offsetTimeoutMs })
        const answer = await this.#context.read(request).catch(() => undefined)
        const offset = answer?.headers.get('stream-offset')
        if (answer?.status === 200 && offset) return Number(offset)
        statuses.add(answer?.status)
      }
      // A caller who may read no list has no data that could be outdated.
      if ([...statuses].every((status) => status === 403)) return read
      await platform.sleep(pauseMs(attempt, platform.random), signal)
    }
    return read
  }

  /** Updates the position up to which all lists are complete. */
  #updatePosition(): void {
    const at = this.#stream.position
    if (!at || !this.#lists.every((list) => list.isSynced)) return
    const read = this.#lists.map(({ readAt }) => readAt ?? 0)
    this.position = { epoch: at.epoch, offset: Math.max(at.offset, read.length > 0 ? Math.min(...read) : 0) }
  }

  #add(kind: ListKind, watched?: WatchedDevices): SyncedList | undefined {
    const { types } = this.#options
    if (types && !kind.types.some((type) => types.includes(type))) return undefined
    const { platform, read } = this.#context
    const failed = (problem: Error, isFinal: boolean) =>
      isFinal ? this.#ended(problem) : this.#stream.readFailed(problem)
    const list = new SyncedList(kind, { platform, read, failed }, watched)
    this.#lists.push(list)
    for (const type of kind.types) this.#byType.set(type, [...(this.#byType.get(type) ?? []), list])
    return list
  }

  #lazyList<V>(kindOf: (map: LiveMap<string, V>) => ListKind): LiveMap<string, V> {
    const known = this.#lazyLists.get(kindOf)
    if (known) return known as LiveMap<string, V>
    const map = new LiveMap<string, V>(this.#context.platform.nextFrame)
    this.#lazyLists.set(kindOf, map as LiveMap<string, unknown>)
    const list = this.#add(kindOf(map))
    const at = this.#stream.position
    if (list && at && !this.#isClosed) {
      list.startOver(at.offset)
      this.#stream.listAdded()
    }
    return map
  }

  /** The query of the websocket upgrade, contract 4.2. */
  #query(devices: readonly string[] = []): Readonly<Record<string, string>> {
    const { types, services = [] } = this.#options
    const query: Record<string, string> = types ? { types: types.join() } : {}
    for (const [field, names] of Object.entries({ devices, services })) {
      const text = names.join()
      if (text !== '' && text.length <= namesCharactersMax) query[field] = text
    }
    return query
  }

  /** Reads devices that are watched and not known. Above `keptMax`, drops the oldest devices that are not watched. */
  #deviceWatched(): void {
    const { devices } = this.#fleet
    for (const list of this.#lists) void list.readDevices()
    for (const device of devices.keys()) {
      if (devices.size <= keptMax) break
      if (!devices.isWatched(device)) for (const list of this.#lists) list.drop(device)
    }
  }

  /**
   * Clears the state when the user signs out, or another user signs in. Returns whether the stream must stay stopped.
   */
  #sessionChanged({ state, tenant, name }: Session): boolean {
    if (this.#isClosed) return true
    const mayAsk = state !== 'signed out' && state !== 'second factor'
    const user = mayAsk && name !== undefined ? `${tenant}/${name}` : undefined
    // A user without a known name may be another user.
    const isOtherUser = mayAsk && this.#user !== undefined && user !== this.#user
    this.#user = user ?? this.#user
    if (isOtherUser || (!mayAsk && this.connection.value.state !== 'closed')) this.#clear()
    if (mayAsk && this.connection.value.state === 'closed') {
      this.connection.set({ state: 'connecting', since: this.#context.now() })
      this.#stream.start()
    }
    return !mayAsk
  }

  #clear(): void {
    this.#ended(new Error('no user is signed in'))
    this.#fleet.devices.clear()
    for (const map of this.#lazyLists.values()) map.clear()
  }

  #halt(): void {
    this.#stream.stop()
    this.#removalChecks.stop()
    for (const list of this.#lists) list.stop()
    this.position = undefined
  }

  #whenReady(): Promise<void> {
    const ready = new Promise<void>((resolve, reject) => {
      const check = () => {
        const { state, problem } = this.connection.value
        if (state === 'live') resolve()
        else if (state === 'closed') reject(problem ?? new Error('the state was closed'))
        else return
        end()
      }
      const end = this.connection.subscribe(check)
    })
    // Callers that do not await `ready` follow `connection` instead.
    ready.catch(() => {})
    return ready
  }
}

function isOnline(event: StreamEvent): boolean {
  return event.type === 'META_STATUS_CHANGE' && (event as EventOf<'META_STATUS_CHANGE'>).status === 'online'
}

/** Whether the event only removes properties, perhaps because the device is deleted. */
function isRemoval(event: StreamEvent): boolean {
  if (event.type !== 'OBJECT_UPDATED') return false
  return (event as EventOf<'OBJECT_UPDATED'>).updates.every(({ tag }) => tag === 'removed')
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
