import { expect } from 'vitest'
import { type DeliveryCommands, type DeliveryState, deliveryActor, deliveryAddress } from '#actors/delivery/delivery'
import { deviceAddress } from '#actors/device/device'
import { directoryActor } from '#actors/directory/directory'
import { activeTenants } from '#actors/directory/queries'
import { directoryAddress } from '#actors/directory/state'
import { noticeBus } from '#actors/notice-bus'
import { type OutboxState, type OutboxTally, outboxActor, outboxAddress } from '#actors/outbox/outbox'
import { type SubscriberState, subscriberAddress } from '#actors/subscriber/state'
import { subscriberActor } from '#actors/subscriber/subscriber'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import { tenantActor } from '#actors/tenant/tenant'
import { storedRequestsMax } from '#model/delivery'
import type { Entry } from '#model/entry'
import type { FunctionBody } from '#model/function'
import type { WebhookNode } from '#model/graph'
import type { JsonObject } from '#model/json-value'
import { everything } from '#model/scope'
import type { TemplateBody } from '#model/template'
import { Deliveries } from '#notifications/deliveries'
import type { MailMessage } from '#notifications/mail'
import type { StoredRecipient } from '#notifications/recipient-access'
import { Webhooks } from '#notifications/webhooks'
import { FunctionViews } from '#rules/function-views'
import type { AnyDefinition } from '#runtime/activation'
import type { ActorAddress, CommandOf } from '#runtime/actor'
import { StoreListing } from '#store/store-listing'
import { deviceWith, noRuleViews } from '#test/actors/acting-device'
import { subscriptionOf } from '#test/actors/acting-subscriber'
import { ann, mailFunction, mailTemplate } from '#test/actors/acting-tenant'
import { MemoryMail } from '#test/notifications/memory-mail'
import { MemoryReceivers } from '#test/notifications/memory-receivers'
import { atOnce } from '#test/rules/synchronous-slices'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, type Faults, faultyStorage, RuntimeFixture } from '#test/runtime/runtime-fixture'

/** State that survives a restart: the store, the recipients, and the mails of all processes. */
interface SharedState {
  readonly world: ManualWorld
  readonly backend: ReturnType<typeof faultyStorage>['backend']
  readonly faults: Faults
  readonly mailsPerHourMax: number
  readonly recipients: Map<string, StoredRecipient>
  readonly arrived: MailMessage[]
  readonly receivers: MemoryReceivers
}

/** Functions, subscribers and deliveries on a store in memory. Tests make the requests that devices would. */
export class DeliveryFixture {
  readonly runtime: RuntimeFixture
  readonly views: FunctionViews
  readonly mail = new MemoryMail('Devices <devices@iot.example>')
  readonly deliveries: Deliveries
  readonly webhooks: Webhooks
  /** Log lines of the levels warn and error. */
  readonly warnings: string[] = []
  /** Called before a mail arrives; may delay or refuse it. */
  onSend: (message: MailMessage) => void | Promise<void> = () => {}
  readonly #shared: SharedState

  private constructor(shared: SharedState) {
    this.#shared = shared
    const { world, backend, mailsPerHourMax } = shared
    const notices = noticeBus()
    const log = {
      info: () => {},
      warn: (fields: object, message: string) => this.warnings.push(`${message}: ${JSON.stringify(fields)}`),
      error: (fields: object, message: string) => this.warnings.push(`${message}: ${JSON.stringify(fields)}`),
    }
    this.views = new FunctionViews({ mailsPerHourMax, scopeOf: () => everything, runInSlices: atOnce, log })
    this.runtime = new RuntimeFixture({
      world,
      backend,
      definitions: () =>
        [
          deviceWith(noRuleViews),
          tenantActor(notices),
          directoryActor(notices),
          subscriberActor(notices),
          deliveryActor({ notices, storedRequestsMax: storedRequestsMax(mailsPerHourMax) }),
          outboxActor,
        ] as unknown as AnyDefinition<Entry>[],
    })
    const { system, journal } = this.runtime
    this.mail.onSend = async (message) => {
      await this.onSend(message)
      shared.arrived.push(message)
    }
    this.deliveries = new Deliveries({
      system,
      listing: new StoreListing(() => journal.storage),
      functions: this.views,
      mail: this.mail,
      mailsPerHourMax,
      scopeOf: (_, user) => this.#recipientOf(user).scope,
      recipientOf: (_, user) => this.#recipientOf(user),
      unsubscribeUrls: { urlOf: (base, of) => `${base}/${Object.values(of).join('/')}` },
      publicUrls: [],
      log,
    })
    this.webhooks = new Webhooks({
      system,
      listing: new StoreListing(() => journal.storage),
      functions: this.views,
      webhookSender: shared.receivers,
      scopeOf: (_, author) => this.#recipientOf(author).scope,
      secretOf: (_, __, ___, { secrets }) => secrets && 'whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB',
      waitingMax: 10,
      log,
    })
    notices.listen(this.views, () => system.isServing)
    notices.listen(this.deliveries)
    notices.listen(this.webhooks)
    this.runtime.onReloaded = () => {
      this.#load()
      this.deliveries.reloaded()
      this.webhooks.reloaded()
    }
  }

  #load(): void {
    const { system } = this.runtime
    this.views.load([...activeTenants(system)].map((tenant) => system.wake(tenantAddress(tenant))))
  }

  static async open(mailsPerHourMax = 60): Promise<DeliveryFixture> {
    const world = new ManualWorld()
    const shared = { mailsPerHourMax, recipients: new Map<string, StoredRecipient>(), arrived: [] as MailMessage[] }
    return DeliveryFixture.#begin({ world, ...faultyStorage(world), ...shared, receivers: new MemoryReceivers() })
  }

  /** A fixture with function `F`, its template, and these subscribers. */
  static async openSubscribed(names: readonly string[], mailsPerHourMax = 60): Promise<DeliveryFixture> {
    const fixture = await DeliveryFixture.open(mailsPerHourMax)
    await fixture.putTemplate()
    await fixture.putFunction()
    for (const name of names) await fixture.subscribe(name)
    return fixture
  }

  static async #begin(shared: SharedState): Promise<DeliveryFixture> {
    const made = new DeliveryFixture(shared)
    await made.runtime.open()
    made.#load()
    await during(made.world, made.deliveries.open())
    void made.webhooks.open()
    return made
  }

  /** Kills the process when `writesKept` of the writes in flight have reached the disk, and starts another. */
  async restart(writesKept = 0): Promise<DeliveryFixture> {
    this.runtime.crash(writesKept)
    return DeliveryFixture.#begin(this.#shared)
  }

  get world(): ManualWorld {
    return this.runtime.world
  }

  get faults(): Faults {
    return this.#shared.faults
  }

  get recipients(): Map<string, StoredRecipient> {
    return this.#shared.recipients
  }

  /** Arrived mails of all processes, in order. */
  get arrived(): readonly MailMessage[] {
    return this.#shared.arrived
  }

  get receivers(): MemoryReceivers {
    return this.#shared.receivers
  }

  /** `<to>: <subject>` of each arrived mail. */
  get subjects(): readonly string[] {
    return this.arrived.map(({ to, subject }) => `${to}: ${subject}`)
  }

  ask(address: ActorAddress, command: unknown): Promise<unknown> {
    return during(this.world, this.runtime.system.ask(address, command))
  }

  askTenant(command: TenantCommand, tenant = 'default'): Promise<unknown> {
    return this.ask(tenantAddress(tenant), command)
  }

  /** A function that mails each change by template `words`. */
  async putFunction(id = 'F', more: Partial<FunctionBody> = {}, tenant = 'default'): Promise<void> {
    const isNew = this.views.storedOf(tenant, id) === undefined
    await this.askTenant({ type: 'put_function', id, isNew, body: { ...mailFunction, ...more }, author: ann }, tenant)
  }

  async putTemplate(body: TemplateBody = mailTemplate, name = 'words', tenant = 'default'): Promise<void> {
    await this.askTenant({ type: 'put_template', name, body, author: ann }, tenant)
  }

  async putGroup(id: string, devices: readonly string[]): Promise<void> {
    const isNew = this.views.membersOf('default', id) === undefined
    await this.askTenant({ type: 'put_group', id, isNew, body: { name: id, devices }, author: ann })
  }

  async addTenant(tenantIdentifier: string): Promise<void> {
    const tenant = { tenantIdentifier, name: tenantIdentifier, hosts: [], twoFactor: 'optional', basic: true }
    await this.ask(directoryAddress, { type: 'add_tenant', tenant })
  }

  async addDevice(device: string, meta: JsonObject = {}): Promise<void> {
    await this.ask(deviceAddress('default', device), { type: 'add', flakeAddress: 1, meta })
  }

  /** Sets the address and permissions of a user; the defaults are `<name>@example.com` and all permissions. */
  setRecipient(name: string, more: Partial<StoredRecipient> = {}): void {
    const known = this.recipients.get(name) ?? { scope: everything, isActive: true, address: `${name}@example.com` }
    this.recipients.set(name, { ...known, ...more })
  }

  async subscribe(
    name: string,
    fn = 'F',
    { locale = 'en', tenant = 'default', id = `${name}-${fn}` } = {},
  ): Promise<void> {
    if (!this.recipients.has(name)) this.setRecipient(name)
    const createdBy = `crn#user:${name}`
    const subscription = subscriptionOf(fn, id, { locale, createdBy })
    const { head } = this.runtime.system.peek(deliveryAddress(tenant, fn)) as DeliveryState
    await this.ask(subscriberAddress(tenant, name), { type: 'subscribe', subscription, from: head.seq })
  }

  async unsubscribe(name: string, fn = 'F'): Promise<void> {
    await this.ask(subscriberAddress('default', name), { type: 'unsubscribe', id: `${name}-${fn}` })
  }

  /** Requests a mail about a value of property 1 of service `svc`. */
  async request(value: number, fn = 'F', tenant = 'default', device = 'A'): Promise<void> {
    await this.ask(deliveryAddress(tenant, fn), requestOf(this.world.now(), value, device))
  }

  /** A function that calls this URL at each change. */
  async putWebhook(url = 'https://a.example/hook', id = 'F', more: Partial<WebhookNode> = {}): Promise<void> {
    const nodes = [...mailFunction.graph.nodes.slice(0, 1), { id: 'hook', type: 'webhook', url, ...more } as const]
    const body = { ...mailFunction, graph: { nodes, edges: [['when', 'hook'] as const] } }
    const isNew = this.views.storedOf('default', id) === undefined
    const secrets = [{ node: 'hook', sealed: new Uint8Array(1) }]
    await this.askTenant({ type: 'put_function', id, isNew, body, secrets, author: ann })
  }

  /** Requests a webhook about a value of property 1 of service `svc`. */
  async callWebhook(value: number, fn = 'F', device = 'A'): Promise<void> {
    const cause = { on: 'property', service: 'svc', propId: 1 } as const
    const request = { at: this.world.now(), device, node: 'hook', value, previous: null, cause }
    await this.ask(deliveryAddress('default', fn), { type: 'webhook', request })
  }

  /** Requests a mail without waiting for the commit. */
  requestSoon(value: number, fn = 'F'): void {
    void this.runtime.system.ask(deliveryAddress('default', fn), requestOf(this.world.now(), value)).catch(() => {})
  }

  /** Advances the clock; the default is long enough for everything that is due now. */
  advance(ms = 3_000): Promise<void> {
    return this.world.advance(ms)
  }

  /** Holds the next mail until the returned function is called. */
  holdMail(): () => void {
    let release = () => {}
    this.onSend = () =>
      new Promise<void>((resolve) => {
        release = resolve
      })
    return () => release()
  }

  subscriber(name: string, tenant = 'default'): SubscriberState {
    return this.runtime.system.peek(subscriberAddress(tenant, name)) as SubscriberState
  }

  delivery(fn = 'F', tenant = 'default'): DeliveryState {
    return this.runtime.system.peek(deliveryAddress(tenant, fn)) as DeliveryState
  }

  get tally(): OutboxTally {
    return (this.runtime.system.peek(outboxAddress('default')) as OutboxState).tally
  }

  /** The number of requests that were not delivered, by reason. */
  get failures(): Record<string, number> {
    return Object.fromEntries(Object.entries(this.tally.failures).map(([reason, { count }]) => [reason, count]))
  }

  async entries(index: string, tenant = 'default'): Promise<readonly string[]> {
    const { journal } = this.runtime
    const pages = new StoreListing(() => journal.storage).entries(index, tenant)
    const rows = await during(this.world, pages.next(100_000))
    await during(this.world, pages.close())
    return rows
  }

  /** Expects that no request is left after all deliveries. */
  async expectIdle(ms?: number): Promise<void> {
    await this.advance(ms)
    expect([...this.delivery().requests]).toEqual([])
    expect(await this.entries('delivering')).toEqual([])
    expect(this.deliveries.backlogOf('default')).toEqual({ requests: 0, subscribers: 0 })
  }

  async close(): Promise<void> {
    expect(this.runtime.bugs).toEqual([])
    this.deliveries.stop()
    this.webhooks.stop()
    await this.runtime.close()
  }

  #recipientOf(user: string): StoredRecipient {
    const name = user.slice('crn#user:'.length)
    return this.recipients.get(name) ?? { scope: everything, isActive: true, address: null }
  }
}

export function requestOf(at: number, value: number, device = 'A'): CommandOf<DeliveryCommands, 'request'> {
  const cause = { on: 'property', service: 'svc', propId: 1 } as const
  return { type: 'request', request: { at, device, node: 'mail', template: 'words', value, previous: null, cause } }
}
