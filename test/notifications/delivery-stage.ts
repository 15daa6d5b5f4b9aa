import type { AddRequest } from '#actors/delivery/commands'
import { deliveryActor } from '#actors/delivery/delivery'
import { type DeliveryState, deliveryAddress } from '#actors/delivery/state'
import { deviceAddress } from '#actors/device/device'
import { directoryAddress } from '#actors/directory/commands'
import { directoryActor } from '#actors/directory/directory'
import { tenantsThere } from '#actors/directory/queries'
import { noticeBus } from '#actors/notice-bus'
import { outboxActor } from '#actors/outbox/outbox'
import { type OutboxState, type OutboxTally, outboxAddress } from '#actors/outbox/state'
import { subscriberAddress } from '#actors/subscriber/commands'
import type { SubscriberState } from '#actors/subscriber/state'
import { subscriberActor } from '#actors/subscriber/subscriber'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import { tenantActor } from '#actors/tenant/tenant'
import { storedRequestsMax } from '#model/delivery'
import type { Entry } from '#model/entry'
import type { FunctionBody } from '#model/function'
import type { JsonObject } from '#model/json-value'
import { everything } from '#model/scope'
import type { TemplateBody } from '#model/template'
import { Deliveries } from '#notifications/deliveries'
import type { MailMessage } from '#notifications/mail'
import type { StoredRecipient } from '#notifications/recipient-access'
import { FunctionViews } from '#rules/function-views'
import type { AnyDefinition } from '#runtime/activation'
import type { ActorAddress } from '#runtime/actor'
import { StoreListing } from '#store/store-listing'
import { deviceWith } from '#test/actors/acting'
import { subscriptionOf } from '#test/actors/acting-subscriber'
import { ann, told, words } from '#test/actors/acting-tenant'
import { noRuleViews } from '#test/actors/no-rule-views'
import { MemoryMail } from '#test/notifications/memory-mail'
import { atOnce } from '#test/rules/at-once'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, type Faults, faultyPlace, RuntimeFixture } from '#test/runtime/runtime-fixture'

/** What every process of a stage has: its store, who is who, and what arrived from all of them. */
interface Kept {
  readonly world: ManualWorld
  readonly place: ReturnType<typeof faultyPlace>['place']
  readonly faults: Faults
  readonly mailsPerHourMax: number
  readonly people: Map<string, StoredRecipient>
  readonly arrived: MailMessage[]
}

/** Functions, subscribers and who brings them their mails, on a store in memory; devices ask for nothing by themselves. */
export class DeliveryStage {
  readonly stage: RuntimeFixture
  readonly views: FunctionViews
  readonly mail = new MemoryMail('Devices <devices@iot.example>')
  readonly deliveries: Deliveries
  /** What is logged above information. */
  readonly complaints: string[] = []
  /** What becomes of a mail before it arrives. */
  answering: (message: MailMessage) => void | Promise<void> = () => {}
  readonly #kept: Kept

  private constructor(kept: Kept) {
    this.#kept = kept
    const { world, place, mailsPerHourMax } = kept
    const notices = noticeBus()
    const log = {
      info: () => {},
      warn: (fields: object, message: string) => this.complaints.push(`${message}: ${JSON.stringify(fields)}`),
      error: (fields: object, message: string) => this.complaints.push(`${message}: ${JSON.stringify(fields)}`),
    }
    this.views = new FunctionViews({ mailsPerHourMax, scopeOf: () => everything, inSlices: atOnce, log })
    this.stage = new RuntimeFixture({
      world,
      place,
      definitions: () =>
        [
          deviceWith(noRuleViews),
          tenantActor(notices),
          directoryActor(notices),
          subscriberActor(notices),
          deliveryActor({ notices, kept: storedRequestsMax(mailsPerHourMax) }),
          outboxActor,
        ] as unknown as AnyDefinition<Entry>[],
    })
    const { system, journal } = this.stage
    this.mail.answering = async (message) => {
      await this.answering(message)
      kept.arrived.push(message)
    }
    this.deliveries = new Deliveries({
      system,
      listing: new StoreListing(() => journal.storage),
      functions: this.views,
      mail: this.mail,
      mailsPerHourMax,
      scopeOf: (_, user) => this.#personOf(user).scope,
      addressOf: (_, user) => this.#personOf(user),
      unsubscribeUrls: { urlOf: (base, of) => `${base}/${Object.values(of).join('/')}` },
      publicUrls: [],
      log,
    })
    notices.listen(this.views, () => system.isServing)
    notices.listen(this.deliveries)
    this.stage.onReloaded = () => {
      this.#load()
      this.deliveries.reloaded()
    }
  }

  #load(): void {
    const { system } = this.stage
    this.views.load([...tenantsThere(system)].map((tenant) => system.wake(tenantAddress(tenant))))
  }

  static async open(mailsPerHourMax = 60): Promise<DeliveryStage> {
    const world = new ManualWorld()
    const shared = { mailsPerHourMax, people: new Map<string, StoredRecipient>(), arrived: [] }
    return DeliveryStage.#begin({ world, ...faultyPlace(world), ...shared })
  }

  static async #begin(kept: Kept): Promise<DeliveryStage> {
    const made = new DeliveryStage(kept)
    await made.stage.open()
    made.#load()
    await during(made.world, made.deliveries.open())
    return made
  }

  /** The process dies, of its writes in flight so many having reached the disk; another one starts and goes on. */
  async restart(writesKept = 0): Promise<DeliveryStage> {
    this.stage.crash(writesKept)
    return DeliveryStage.#begin(this.#kept)
  }

  get world(): ManualWorld {
    return this.stage.world
  }

  get faults(): Faults {
    return this.#kept.faults
  }

  get people(): Map<string, StoredRecipient> {
    return this.#kept.people
  }

  /** Mails that somebody has, of all processes, in the order in which they came. */
  get arrived(): readonly MailMessage[] {
    return this.#kept.arrived
  }

  /** `<to>: <subject>` of each. */
  get subjects(): readonly string[] {
    return this.arrived.map(({ to, subject }) => `${to}: ${subject}`)
  }

  ask(address: ActorAddress, command: unknown): Promise<unknown> {
    return during(this.world, this.stage.system.ask(address, command))
  }

  tell(command: TenantCommand, tenant = 'default'): Promise<unknown> {
    return this.ask(tenantAddress(tenant), command)
  }

  /** A function that mails each change by template `words`. */
  async putFunction(id = 'F', more: Partial<FunctionBody> = {}, tenant = 'default'): Promise<void> {
    const isNew = this.views.storedOf(tenant, id) === undefined
    await this.tell({ type: 'put_function', id, isNew, body: { ...told, ...more }, author: ann }, tenant)
  }

  async putTemplate(body: TemplateBody = words, name = 'words', tenant = 'default'): Promise<void> {
    await this.tell({ type: 'put_template', name, body, author: ann }, tenant)
  }

  async putGroup(id: string, devices: readonly string[]): Promise<void> {
    const isNew = this.views.membersOf('default', id) === undefined
    await this.tell({ type: 'put_group', id, isNew, body: { name: id, devices }, author: ann })
  }

  async addTenant(tenantIdentifier: string): Promise<void> {
    const tenant = { tenantIdentifier, name: tenantIdentifier, hosts: [], twoFactor: 'optional', basic: true }
    await this.ask(directoryAddress, { type: 'add_tenant', tenant })
  }

  async addDevice(device: string, meta: JsonObject = {}): Promise<void> {
    await this.ask(deviceAddress('default', device), { type: 'add', flakeAddress: 1, meta })
  }

  /** Somebody at `<name>@example.com` who may do everything, unless said. */
  person(name: string, more: Partial<StoredRecipient> = {}): void {
    const known = this.people.get(name) ?? { scope: everything, isActive: true, address: `${name}@example.com` }
    this.people.set(name, { ...known, ...more })
  }

  async subscribe(
    name: string,
    fn = 'F',
    { locale = 'en', tenant = 'default', id = `${name}-${fn}` } = {},
  ): Promise<void> {
    if (!this.people.has(name)) this.person(name)
    const createdBy = `crn#user:${name}`
    const subscription = subscriptionOf(fn, id, { locale, createdBy })
    const { head } = this.stage.system.peek(deliveryAddress(tenant, fn)) as DeliveryState
    await this.ask(subscriberAddress(tenant, name), { type: 'subscribe', subscription, from: head.seq })
  }

  async unsubscribe(name: string, fn = 'F'): Promise<void> {
    await this.ask(subscriberAddress('default', name), { type: 'unsubscribe', id: `${name}-${fn}` })
  }

  /** Something happened: a value of property 1 of service `svc`. */
  async request(value: number, fn = 'F', tenant = 'default', device = 'A'): Promise<void> {
    await this.ask(deliveryAddress(tenant, fn), requestOf(this.world.now(), value, device))
  }

  /** The same, not waited for. */
  requestSoon(value: number, fn = 'F'): void {
    void this.stage.system.ask(deliveryAddress('default', fn), requestOf(this.world.now(), value)).catch(() => {})
  }

  /** Time goes by until nothing is left to be done at once. */
  pass(ms = 3_000): Promise<void> {
    return this.world.advance(ms)
  }

  subscriber(name: string, tenant = 'default'): SubscriberState {
    return this.stage.system.peek(subscriberAddress(tenant, name)) as SubscriberState
  }

  delivery(fn = 'F', tenant = 'default'): DeliveryState {
    return this.stage.system.peek(deliveryAddress(tenant, fn)) as DeliveryState
  }

  get tally(): OutboxTally {
    return (this.stage.system.peek(outboxAddress('default')) as OutboxState).tally
  }

  /** How many were told in no way, by reason. */
  get failures(): Record<string, number> {
    return Object.fromEntries(Object.entries(this.tally.failures).map(([reason, { count }]) => [reason, count]))
  }

  async entries(index: string, tenant = 'default'): Promise<readonly string[]> {
    const { journal } = this.stage
    const pages = new StoreListing(() => journal.storage).entries(index, tenant)
    const rows = await during(this.world, pages.next(100_000))
    await during(this.world, pages.close())
    return rows
  }

  async close(): Promise<void> {
    this.deliveries.stop()
    await this.stage.close()
  }

  #personOf(user: string): StoredRecipient {
    const name = user.slice('crn#user:'.length)
    return this.people.get(name) ?? { scope: everything, isActive: true, address: null }
  }
}

export function requestOf(at: number, value: number, device = 'A'): AddRequest {
  const cause = { on: 'property', service: 'svc', propId: 1 } as const
  return { type: 'request', request: { at, device, node: 'mail', template: 'words', value, previous: null, cause } }
}
