import { DeviceList, MetaList, type Wanted } from '#client/device-list'
import { EventStream, type StreamDoor, type StreamListener } from '#client/event-stream'
import { Fleet } from '#client/fleet'
import { KeptList, type ListKind, type Reading } from '#client/kept-list'
import { AlarmList, SchemaList, SubscriptionList, UpdateList } from '#client/map-lists'
import { Listeners, LiveMap, type Observable, type ObservableMap, ObservableValue } from '#client/observable'
import { pauseMs } from '#client/problem'
import { askAfterSilent, RemovalChecks } from '#client/removal-checks'
import { requestOf } from '#client/requests'
import { may, type Session } from '#client/session'
import type {
  AlarmStatus,
  Connection,
  DeviceView,
  FirmwareView,
  Position,
  Schema,
  State,
  StateOptions,
  Subscription,
} from '#client/state'
import type { EventOf, StreamEvent } from '#model/event'

/** What a state needs of the client. */
export interface StateDoor extends StreamDoor {
  readonly session: Observable<Session>
  readonly pages: Reading['pages']
  closed(state: LiveState): void
}

/** The lists that are read on first use. */
type Later = 'schemas' | 'alarms' | 'updates' | 'subscriptions'

/** Longer lists of names do not fit into a URL: then everything is read, and most of it dropped. */
const namesCharactersMax = 4_000

/** A connection without an answer for this time is not live. */
const headWithinMs = 15_000

/**
 * The state of a tenant: lists that are read once and kept current by one event stream. `State` describes the contract.
 */
export class LiveState implements State, StreamListener {
  readonly connection: ObservableValue<Connection>
  readonly ready: Promise<void>
  readonly #door: StateDoor
  readonly #options: StateOptions
  readonly #stream: EventStream
  readonly #fleet: Fleet
  readonly #lists: KeptList[] = []
  readonly #later = new Map<Later, LiveMap<string, unknown>>()
  readonly #byType = new Map<string, KeptList[]>()
  readonly #listeners = new Listeners<[StreamEvent]>()
  readonly #unsubscribe: (() => void)[] = []
  readonly #removalChecks: RemovalChecks
  /** Set while the periodic check for deleted devices runs. */
  #asking: AbortController | undefined
  #position: Position | undefined
  /** The user that this state belongs to, once known. */
  #who: string | undefined
  #isClosed = false

  constructor(options: StateOptions, door: StateDoor) {
    const { platform, session } = door
    this.#door = door
    this.#options = options
    this.connection = new ObservableValue<Connection>({ state: 'connecting', since: door.now() }, platform.nextTurn)
    this.#fleet = new Fleet(platform.nextFrame)
    const wanted = wantedOf(options)
    const named = wanted.devices && [...wanted.devices]
    const asked = named && named.join().length <= namesCharactersMax ? named : undefined
    this.#add(new DeviceList(this.#fleet, wanted, asked))
    this.#add(new MetaList(this.#fleet, wanted, asked))
    this.#removalChecks = new RemovalChecks(platform, this.#lookWhetherThere)
    this.#stream = new EventStream(door, this, this.connection, this.#query(asked))
    this.ready = this.#whenReady()
    this.#unsubscribe.push(session.subscribe(() => this.#follow(session.value)))
    this.#unsubscribe.push(platform.whenOnline(() => this.#stream.hurry()))
    if (!this.#follow(session.value)) this.#stream.start()
  }

  get devices(): ObservableMap<string, DeviceView> {
    return this.#fleet.devices
  }

  get schemas(): ObservableMap<string, Schema> {
    return this.#asked('schemas', (map: LiveMap<string, Schema>) => new SchemaList(map))
  }

  get alarms(): ObservableMap<string, AlarmStatus> {
    return this.#asked('alarms', (map: LiveMap<string, AlarmStatus>) => new AlarmList(map))
  }

  get updates(): ObservableMap<string, FirmwareView> {
    return this.#asked('updates', (map: LiveMap<string, FirmwareView>) => new UpdateList(map))
  }

  get subscriptions(): ObservableMap<string, Subscription> {
    return this.#asked('subscriptions', (map: LiveMap<string, Subscription>) => new SubscriptionList(map))
  }

  get position(): Position | undefined {
    return this.#position
  }

  device(deviceIdentifier: string): Observable<DeviceView | undefined> {
    return this.#fleet.devices.at(deviceIdentifier.toUpperCase())
  }

  events(listener: (event: StreamEvent) => void): () => void {
    return this.#listeners.add(listener)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#halt()
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.connection.set({ state: 'closed', since: this.#door.now() })
    this.#door.closed(this)
  }

  heard(event: StreamEvent): void {
    for (const list of this.#byType.get(event.type) ?? []) list.heard(event)
    this.#place()
    this.#lookAgain(event)
    if (isAboutGoing(event)) this.#removalChecks.add((event as EventOf<'OBJECT_UPDATED'>).deviceIdentifier)
    this.#listeners.tell(event)
  }

  startOver(offset: number): void {
    for (const list of this.#lists) list.startOver(offset)
  }

  async caughtUp(signal: AbortSignal): Promise<number> {
    const wasKept = this.#lists.every((list) => list.isKept)
    while (!signal.aborted && !this.#lists.every((list) => list.isKept)) {
      await Promise.race([Promise.all(this.#lists.map((list) => list.whenKept())), aborted(signal)])
    }
    this.#place()
    if (!signal.aborted && !this.#asking) {
      this.#asking = new AbortController()
      void askAfterSilent(this.#door.platform, this.#asking.signal, () => this.#silent(), this.#lookWhetherThere)
    }
    const read = Math.max(0, ...this.#lists.map(({ readAt }) => readAt?.offset ?? 0))
    return wasKept && !signal.aborted ? this.#head(signal, read) : read
  }

  ended(problem: Error): void {
    this.#halt()
    this.connection.set({ state: 'closed', since: this.#door.now(), problem })
  }

  /**
   * A device that connects may have declared properties without values, which no event reports. So a device with
   * listeners is read again.
   */
  #lookAgain(event: StreamEvent): void {
    const isComing = event.type === 'DEVICE_ADD' || event.type === 'DEVICE_DISCOVERY' || isOnline(event)
    if (!isComing || (this.#options.depth ?? 2) < 2) return
    const { deviceIdentifier } = event as EventOf<'DEVICE_ADD'>
    if (!this.#fleet.devices.isWatched(deviceIdentifier)) return
    for (const list of this.#lists) if (list.kind instanceof DeviceList) void list.readAgain([deviceIdentifier])
  }

  readonly #lookWhetherThere = async (devices: readonly string[]): Promise<void> => {
    const known = devices.filter((device) => this.#fleet.devices.has(device))
    await Promise.all((this.#byType.get('DEVICE_DELETE') ?? []).map((list) => list.readAgain(known)))
  }

  /** Devices whose deletion is not reported: without services, for callers without `read` on `device`. */
  #silent(): string[] {
    const { value: session } = this.#door.session
    return [...this.#fleet.devices.keys()].filter(
      (deviceIdentifier) =>
        this.#fleet.devices.get(deviceIdentifier)?.services.size === 0 &&
        !may(session, 'device', 'read', { deviceIdentifier }),
    )
  }

  /** The server's current offset, for a connection on which no list was read. */
  async #head(signal: AbortSignal, read: number): Promise<number> {
    const { platform } = this.#door
    for (let attempt = 1; !signal.aborted; attempt++) {
      const statuses = new Set<number | undefined>()
      for (const { kind } of this.#lists) {
        const query = { ...kind.query, depth: 0, limit: kind.firstPage && 1 }
        const request = { ...requestOf(kind.route, { query, signal }), silenceMs: headWithinMs }
        const answer = await this.#door.read(request).catch(() => undefined)
        const offset = answer?.headers.get('stream-offset')
        if (answer?.status === 200 && offset) return Number(offset)
        statuses.add(answer?.status)
      }
      // A caller who may read no list has nothing that could be behind.
      if ([...statuses].every((status) => status === 403)) return read
      await platform.sleep(pauseMs(attempt, platform.random), signal)
    }
    return read
  }

  /** Updates the position up to which all lists are complete. */
  #place(): void {
    const at = this.#stream.position
    if (!at || !this.#lists.every((list) => list.isKept)) return
    const read = this.#lists.map(({ readAt }) => readAt?.offset ?? 0)
    const least = read.length > 0 ? Math.min(...read) : 0
    this.#position = { epoch: at.epoch, offset: Math.max(at.offset, least) }
  }

  #add(kind: ListKind): KeptList | undefined {
    const { types } = this.#options
    if (types && !kind.types.some((type) => types.includes(type))) return undefined
    const { platform, pages } = this.#door
    const list = new KeptList(kind, { platform, pages, failed: (problem, isFinal) => this.#failed(problem, isFinal) })
    this.#lists.push(list)
    for (const type of kind.types) this.#byType.set(type, [...(this.#byType.get(type) ?? []), list])
    return list
  }

  #failed(problem: Error, isFinal: boolean): void {
    if (isFinal) this.ended(problem)
    else this.#stream.stumbled(problem)
  }

  #asked<V>(name: Later, kindOf: (map: LiveMap<string, V>) => ListKind): LiveMap<string, V> {
    const known = this.#later.get(name)
    if (known) return known as LiveMap<string, V>
    const map = new LiveMap<string, V>(this.#door.platform.nextFrame)
    this.#later.set(name, map as LiveMap<string, unknown>)
    const list = this.#add(kindOf(map))
    const at = this.#stream.position
    if (list && at && !this.#isClosed) {
      list.startOver(at.offset)
      this.#stream.look()
    }
    return map
  }

  /** The query of the websocket upgrade, contract 4.2. */
  #query(named: readonly string[] | undefined): Readonly<Record<string, string>> {
    const { types, services = [] } = this.#options
    return {
      ...(types && { types: types.join() }),
      ...(named && { devices: named.join() }),
      ...(services.length > 0 && services.join().length <= namesCharactersMax && { services: services.join() }),
    }
  }

  /** Clears the state when another user signs in. Returns whether the stream must stay stopped for now. */
  #follow({ state, tenant, name }: Session): boolean {
    if (this.#isClosed) return true
    const mayAsk = state !== 'signed out' && state !== 'second factor'
    const who = mayAsk && name !== undefined ? `${tenant}/${name}` : undefined
    // A user who is not known yet may be another one.
    const isSomebodyElse = mayAsk && this.#who !== undefined && who !== this.#who
    this.#who = who ?? this.#who
    if (isSomebodyElse || (!mayAsk && this.connection.value.state !== 'closed')) this.#forget()
    if (mayAsk && this.connection.value.state === 'closed') {
      this.connection.set({ state: 'connecting', since: this.#door.now() })
      this.#stream.start()
    }
    return !mayAsk
  }

  #forget(): void {
    this.ended(new Error('nobody is signed in'))
    this.#fleet.devices.clear()
    for (const map of this.#later.values()) map.clear()
    for (const list of this.#lists) list.forget()
  }

  #halt(): void {
    this.#stream.stop()
    this.#removalChecks.clear()
    this.#asking?.abort()
    this.#asking = undefined
    for (const list of this.#lists) list.stop()
    this.#position = undefined
  }

  #whenReady(): Promise<void> {
    const ready = new Promise<void>((resolve, reject) => {
      const look = () => {
        const { state, problem } = this.connection.value
        if (state === 'live') resolve()
        else if (state === 'closed') reject(problem ?? new Error('it was closed'))
        else return
        end()
      }
      const end = this.connection.subscribe(look)
    })
    // Callers that do not await `ready` follow `connection` instead.
    ready.catch(() => {})
    return ready
  }
}

function wantedOf({ depth = 2, devices, services }: StateOptions): Wanted {
  return {
    depth,
    devices: devices && new Set(devices.map((device) => device.toUpperCase())),
    services: services && new Set(services),
  }
}

function isOnline(event: StreamEvent): boolean {
  return event.type === 'META_STATUS_CHANGE' && (event as EventOf<'META_STATUS_CHANGE'>).status === 'online'
}

/** A service of a device is removed, perhaps because the device is deleted. */
function isAboutGoing(event: StreamEvent): boolean {
  if (event.type !== 'OBJECT_UPDATED') return false
  return (event as EventOf<'OBJECT_UPDATED'>).updates.every(({ tag }) => tag === 'removed')
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
