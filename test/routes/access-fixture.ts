import { WebSocket } from 'ws'
import { anonymous, operator } from '#access/built-in-callers'
import { hashOf } from '#access/secret-text'
import type { UnsubscribeUrls } from '#access/signed-urls'
import { type AccountState, accountAddress } from '#actors/account/state'
import { actionAddress, actionPageAddress, actionRecord } from '#actors/action/action'
import { type DeliveryState, deliveryAddress } from '#actors/delivery/delivery'
import { deviceAddress } from '#actors/device/device'
import { absentDevice, type DeviceState } from '#actors/device/state'
import { rowByName } from '#actors/directory/queries'
import { type DirectoryState, directoryAddress } from '#actors/directory/state'
import { idempotencyIndex } from '#actors/idempotency/idempotency'
import { outboxAddress } from '#actors/outbox/outbox'
import { type ProjectState, projectAddress } from '#actors/project/state'
import { type SessionState, sessionAddress } from '#actors/session/state'
import { type SubscriberState, subscriberAddress } from '#actors/subscriber/state'
import { tenantAddress } from '#actors/tenant/commands'
import { auditIndex } from '#actors/tenant/log'
import { defaultTenant, endingIndex, type TenantState } from '#actors/tenant/state'
import { createAlarm, exampleAlarm } from '#api/alarms'
import { createFunction, exampleFunction } from '#api/functions'
import { exampleGroup } from '#api/groups'
import { exampleSubscription } from '#api/notifications'
import { putSchema } from '#api/schemas'
import { exampleDevice, exampleService } from '#api/state-shape'
import { exampleTemplate, putTemplate } from '#api/templates'
import { putRollout } from '#api/update-projects'
import { exampleFirmware, exampleProject } from '#api/updates'
import { createAction, exampleAction } from '#api/writes'
import type { Binding, Call } from '#http/call'
import type { ActionBody } from '#model/action'
import type { AlarmBody } from '#model/alarm'
import { formatCrn } from '#model/crn'
import { randomId } from '#model/identifier'
import type { Grant } from '#model/scope'
import { foldEmail } from '#model/user'
import { linkRoutes } from '#routes/link'
import { metaRoutes } from '#routes/meta'
import { schemaRoutes } from '#routes/schemas'
import type { ActorAddress } from '#runtime/actor'
import { root } from '#test/blackbox/signed-in-user'
import { world } from '#test/http/http-fixture'
import { SignInServer } from '#test/routes/sign-in-server'

/** The ids in the examples of the operations. */
const apiKey = '4Qm8sUx2Bw'
const provisioningKey = '6Rk2vNd8Yj'
export const exampleSession = '3Nc7xJr4Vq'
/** The password of all users. */
export const examplePassword = root.password
export const otherTenant = 'other'
/** The topic that `eve` is subscribed to; the examples name another one. */
const subscribedFunction = '7Gm2sXv5He'

/** The callers. `eve` belongs to tenant `default` and has role `eve`, whose grants each test sets; `olaf` administers `other`. */
export type UserName = 'eve' | 'olaf'
const tenantOf = { eve: defaultTenant, olaf: otherTenant } as const satisfies Record<UserName, string>

const tick = () => new Promise((resolve) => setTimeout(resolve, 1))

/** The whole server over real sockets and in memory, with everything that the examples need. */
export class AccessFixture {
  readonly #http: SignInServer
  readonly #tokens = new Map<UserName, string>()
  #device: WebSocket | undefined

  private constructor(http: SignInServer) {
    this.#http = http
  }

  /** `more`: additional bindings of routes. */
  static async open(more: readonly Binding[] = []): Promise<AccessFixture> {
    return new AccessFixture(await SignInServer.open({ bindings: more }))
  }

  get bindings(): readonly Binding[] {
    return this.#http.bindings
  }

  async close(): Promise<void> {
    this.#device?.terminate()
    await this.#http.close()
  }

  /**
   * Restores everything that an earlier call removed or created, signs the callers in, and sets the grants of role
   * `eve`.
   */
  async restore(grants: readonly Grant[]): Promise<void> {
    await this.#restoreOther()
    await this.#removeUser('bob')
    for (const tenant of [defaultTenant, otherTenant]) await this.#restoreTenant(tenant)
    for (const user of ['eve', 'olaf'] as const) await this.#signIn(user)
    await this.#restoreSubscription('eve')
    await this.restoreGrants(grants)
  }

  /** Restores less than `restore`: enough if no call has changed anything except these grants. */
  async restoreGrants(grants: readonly Grant[]): Promise<void> {
    // Keys are rotated at most once a minute.
    this.#http.pass(61_000)
    await this.allow(grants)
    await this.evaluated(defaultTenant)
  }

  /** Sets the grants of role `eve`. */
  async allow(grants: readonly Grant[]): Promise<void> {
    await this.#ask(tenantAddress(defaultTenant), { type: 'put_role', role: 'eve', grants })
  }

  /**
   * Waits until devices have evaluated all edits, because some notices follow the answer, and until a connected device has
   * accepted its desired values.
   */
  async evaluated(tenant: string): Promise<void> {
    const { alarms, evaluated } = this.#tenant(tenant)
    const isSweeping = () => [...evaluated].some(([id, { sweeping }]) => sweeping !== null || !alarms.has(id))
    const isDesired = () => {
      const state = this.#stateOf(deviceAddress(tenant, exampleDevice)) as DeviceState | undefined
      return (state?.desired.size ?? 0) > 0
    }
    const isDue = () => isSweeping() || (this.#device?.readyState === WebSocket.OPEN && isDesired())
    while (isDue()) await tick()
  }

  /** Invites a user, such as `bob` of the examples, whom some operations need. */
  async inviteUser(name: string): Promise<void> {
    await this.#ensureUser(defaultTenant, name, ['viewer'])
  }

  /** Connects the device of the examples, on its own link. It accepts every write. */
  async link(): Promise<void> {
    this.#device?.terminate()
    const authorization = await this.deviceAuthorization()
    const device = new WebSocket(`${this.#http.ws}/link`, ['link.v1.json'], { headers: { authorization } })
    this.#device = device
    const properties = [{ propId: 8192, type: 'FLOAT' }]
    const services = [{ serviceIdentifier: exampleService, properties }]
    await new Promise((welcomed, refused) => {
      device.on('error', refused)
      device.on('open', () => {
        device.send(JSON.stringify({ type: 'HELLO', deviceIdentifier: exampleDevice, services }))
      })
      device.on('message', (data) => {
        const { type, flakeAddress, id, updates = [] } = JSON.parse(String(data))
        if (type === 'WELCOME') welcomed(undefined)
        const results = updates.map(({ propId }: { propId: number }) => ({ propId, status: 'OK' }))
        if (type === 'WRITE') device.send(JSON.stringify({ type: 'RESULT', flakeAddress, id, results }))
      })
    })
  }

  /** Ends that link. */
  async unlink(): Promise<void> {
    this.#device?.terminate()
    const { links } = this.#http.assembly.context
    while (links.linkedOf(defaultTenant, exampleDevice)) await tick()
  }

  /** The credential of the device in the examples. */
  async deviceAuthorization(): Promise<string> {
    const secret = 'of the device'
    await this.#ask(deviceAddress(defaultTenant, exampleDevice), { type: 'set_secret', hash: hashOf(secret) })
    return `Basic ${Buffer.from(`${exampleDevice}:${secret}`).toString('base64')}`
  }

  /** A user that no example names, with the common password. */
  async addUser(name: string): Promise<void> {
    await this.#ensureUser(defaultTenant, name, ['operator'], true)
  }

  /** The signed part of an image URL, valid for an hour. */
  imageQuery(sha256: string): string {
    return this.#http.assembly.context.firmware.imageUrls.queryOf(sha256, exampleDevice, this.now() + 3_600_000)
  }

  /** The signed part of the unsubscribe URL of `eve`. */
  unsubscribeQuery(subscription: string): string {
    const user = formatCrn({ type: 'user', id: rowByName(this.#directory, 'eve')?.id ?? '' })
    // The context can only verify these URLs; the mailer signs them.
    const urls = this.#http.assembly.context.notifications.unsubscribeUrls as UnsubscribeUrls
    const url = urls.urlOf('', { tenant: defaultTenant, user, subscription })
    return url.slice(url.indexOf('?') + 1)
  }

  /** Records a failed mail. */
  async failedMail(): Promise<void> {
    await this.#ask(outboxAddress(defaultTenant), { type: 'count', passed: { reason: 'no_address', count: 1 } })
  }

  /** A function that has sent a webhook. */
  async webhookFunction(): Promise<string> {
    const nodes = [
      { id: 'when', type: 'trigger', on: 'status' },
      { id: 'call', type: 'webhook', url: 'https://example.com/hook' },
    ]
    const body = { name: 'Call', binding: {}, graph: { nodes, edges: [['when', 'call']] } }
    const { headers } = await this.call('eve', 'POST', '/functions', body)
    const id = headers.get('location')?.split('/').at(-1) ?? ''
    const address = deliveryAddress(defaultTenant, id)
    const what = { value: 'offline', previous: 'online', cause: { on: 'status' } } as const
    const request = { at: this.now(), device: exampleDevice, node: 'call', ...what }
    await this.#ask(address, { type: 'webhook', request })
    while ((this.#stateOf(address) as DeliveryState).results.size === 0) await tick()
    return id
  }

  /** The clock of the server, Unix ms. */
  now(): number {
    return this.#http.now()
  }

  /** Advances the clock. */
  pass(ms: number): void {
    this.#http.pass(ms)
  }

  async deleteTenant(tenant: string): Promise<void> {
    const { tenants } = this.#directory
    if (!tenants.has(tenant)) return
    if (tenants.get(tenant)?.state === 'active') await this.#ask(directoryAddress, { type: 'delete_tenant', tenant })
    while (this.#directory.tenants.has(tenant)) await tick()
  }

  /** `body`: bytes as they are, other values as JSON. */
  async call(
    user: UserName | undefined,
    method: string,
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
  ) {
    const response = await fetch(this.#http.base + path, {
      method,
      headers: {
        ...(user && { authorization: this.authorizationOf(user) }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...more,
      },
      ...(body !== undefined && { body: body instanceof Uint8Array ? body : JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text(), headers: response.headers }
  }

  get port(): number {
    return this.#http.port
  }

  /** The credential of a caller: `Bearer <token>`. */
  authorizationOf(user: UserName): string {
    return `Bearer ${this.#tokens.get(user)}`
  }

  /** The id of another session of the caller. */
  async secondSession(user: UserName): Promise<string> {
    const id = randomId((bytes) => world.random(bytes))
    const row = rowByName(this.#directory, user)
    if (!row) throw new Error(`${user} does not exist`)
    await this.#beginSession(row.tenant, row.id, id)
    return id
  }

  /** Everything that a tenant stores, as text, without the role and sessions of the caller, which always change. */
  storedText(tenant: string): string {
    const { schemas, roles, apiKeys, provisioningKeys, groups, alarms, functions, templates } = this.#tenant(tenant)
    const users = [...this.#directory.users.values()].filter((row) => row.tenant === tenant && !(row.name in tenantOf))
    const devices = this.#stateOf({ kind: 'device', tenant, id: exampleDevice }) as DeviceState | undefined
    const named = [...roles].filter(([name]) => name !== 'eve')
    const subscriptions = tenant === defaultTenant ? this.#subscriber('eve').subscriptions : []
    const maps = [schemas, apiKeys, provisioningKeys, groups, alarms, functions, templates].map((each) => [...each])
    return JSON.stringify([maps, named, subscriptions, users, this.#shownProject(tenant), devices?.meta ?? 'none'])
  }

  /** The number of entries in the stream of a tenant: all events so far. */
  entryCount(tenant: string): number {
    return this.#http.assembly.context.system.registry.head(tenant).taken
  }

  /** The audit of both tenants: of the last three entries of each, those that are newer than a known one. */
  async audit(known: readonly (string | undefined)[] = []): Promise<readonly string[][]> {
    const { listing, system } = this.#http.assembly.context
    await system.gate.whenStored()
    return await Promise.all(
      [defaultTenant, otherTenant].map(async (tenant, place) => {
        const pages = listing.entries(auditIndex, tenant)
        const entries = await pages.next(3)
        await pages.close()
        const end = entries.indexOf(known[place] ?? '')
        return entries.slice(0, end < 0 ? entries.length : end)
      }),
    )
  }

  /** The number of stored idempotency keys of a tenant. */
  async idempotencyKeyCount(tenant: string): Promise<number> {
    const pages = this.#http.assembly.context.listing.entries(idempotencyIndex, tenant)
    const { length } = await pages.next(100_000)
    await pages.close()
    return length
  }

  async #restoreOther(): Promise<void> {
    await this.deleteTenant('third')
    const { tenants } = this.#directory
    if (tenants.get(otherTenant)?.state === 'deleting') await this.deleteTenant(otherTenant)
    const settings = { name: 'Other Works', hosts: [], twoFactor: 'optional', basic: true }
    if (!this.#directory.tenants.has(otherTenant)) {
      await this.#ask(directoryAddress, { type: 'add_tenant', tenant: { tenantIdentifier: otherTenant, ...settings } })
    } else await this.#ask(directoryAddress, { type: 'update_tenant', tenant: otherTenant, change: settings })
  }

  async #restoreTenant(tenant: string): Promise<void> {
    const state = this.#tenant(tenant)
    const address = tenantAddress(tenant)
    const hash = hashOf('any')
    await this.#removeProject(tenant)
    // The other tenant has the same resources under the same names, except the device, its firmware, bindings and schema.
    if (!state.apiKeys.has(apiKey)) {
      const createdBy = { tenant: defaultTenant, user: operator.user }
      const key = { id: apiKey, name: 'Reporting', roles: ['viewer'], hash, expiresAt: null, createdBy }
      await this.#ask(address, { type: 'add_api_key', ...key })
    }
    if (!state.provisioningKeys.has(provisioningKey)) {
      const key = { id: provisioningKey, name: 'Hall 3', hash, expiresAt: null, maxDevices: 200 }
      await this.#ask(address, { type: 'add_provisioning_key', ...key })
    }
    const grants = [{ permissions: { service: ['read'], meta: ['read', 'update'] }, devices: ['*'], services: ['*'] }]
    await this.#ask(address, { type: 'put_role', role: 'ops', grants })
    await this.#ensureUser(tenant, tenant === defaultTenant ? 'ann' : 'ona', ['operator'], true)
    for (const id of state.alarms.keys()) await this.#ask(address, { type: 'delete_alarm', id })
    await this.#restoreFunctions(tenant)
    for (const id of state.groups.keys()) await this.#ask(address, { type: 'delete_group', id })
    if (tenant === defaultTenant) await this.#restoreData()
    else {
      for (const service of [...state.schemas.keys()]) await this.#ask(address, { type: 'delete_schema', service })
      const made = { kind: 'device', tenant, id: 'PUMP-7' }
      if (this.#stateOf(made)) await this.#ask(made, { type: 'remove' })
    }
  }

  /** Two functions and the templates of their mails, without subscriptions; none in the other tenant. */
  async #restoreFunctions(tenant: string): Promise<void> {
    const { functions, templates } = this.#tenant(tenant)
    const address = tenantAddress(tenant)
    const kept = tenant === defaultTenant ? [exampleFunction, subscribedFunction] : []
    const left = [...functions.keys()].filter((id) => !kept.includes(id))
    for (const id of left) await this.#ask(address, { type: 'delete_function', id })
    for (const name of [...templates.keys()]) await this.#ask(address, { type: 'delete_template', name })
    await this.#untilSwept(tenant)
    const body = createFunction.body?.schema.parse(createFunction.example.body)
    for (const id of kept) {
      await this.#ask(address, { type: 'put_function', id, isNew: !functions.has(id), body, author: anonymous.user })
    }
    if (tenant !== defaultTenant) return
    const texts = putTemplate.body?.schema.parse(putTemplate.example.body)
    await this.#ask(address, { type: 'put_template', name: exampleTemplate, body: texts, author: anonymous.user })
  }

  /** Waits until no subscription to a deleted function remains. */
  async #untilSwept(tenant: string): Promise<void> {
    const isDue = async () => {
      const pages = this.#http.assembly.context.listing.entries(endingIndex, tenant)
      const found = await pages.next(1)
      await pages.close()
      return found.length > 0
    }
    while (await isDue()) await tick()
  }

  /** A subscription to one function, with the id of the examples. */
  async #restoreSubscription(name: string): Promise<void> {
    const { tenant, id } = this.#subscriber(name)
    const address = subscriberAddress(tenant, id)
    await this.#ask(address, { type: 'erase' })
    const made = { createdBy: formatCrn({ type: 'user', id }), createdAt: 1, origin: '' }
    const what = { id: exampleSubscription, function: subscribedFunction, type: 'email', locale: 'en' }
    await this.#ask(address, { type: 'subscribe', subscription: { ...what, ...made }, from: 0 })
  }

  #subscriber(name: string): SubscriberState {
    const row = rowByName(this.#directory, name)
    return this.#stateOf(subscriberAddress(row?.tenant ?? '', row?.id ?? '')) as SubscriberState
  }

  async #restoreData(): Promise<void> {
    const made = { kind: 'device', tenant: defaultTenant, id: 'PUMP-7' }
    if (this.#stateOf(made)) await this.#ask(made, { type: 'remove' })
    const properties = [{ propId: 8192, type: 'FLOAT' }]
    const services = [{ serviceIdentifier: exampleService, properties }]
    const updates = [{ serviceIdentifier: exampleService, propId: 8192, value: 21.5 }]
    const report = () => this.#callDirectly('postLink', {}, { deviceIdentifier: exampleDevice, services, updates })
    await report()
    await this.#callDirectly(
      'patchMeta',
      { deviceIdentifier: exampleDevice },
      { location: { building: 'A', floor: 1 } },
    )
    await this.#restoreFirmware()
    // The firmware report removes the services of the device.
    await report()
    const group = { name: 'Hall 3', devices: [exampleDevice] }
    const put = { type: 'put_group', id: exampleGroup, isNew: true, body: group, author: anonymous.user }
    await this.#ask(tenantAddress(defaultTenant), put)
    // The alarm is active on the device of the examples while its author exists.
    const watched = { condition: { '>': [{ var: '0x2000' }, 20] }, forSeconds: 0 }
    const alarm = { ...(createAlarm.body?.schema.parse(createAlarm.example.body) as AlarmBody), ...watched }
    const author = formatCrn({ type: 'user', id: rowByName(this.#directory, 'root')?.id ?? '' })
    const set = { type: 'put_alarm', id: exampleAlarm, isNew: true, body: alarm, author }
    await this.#ask(tenantAddress(defaultTenant), set)
    await this.#restoreAction()
    await this.#callDirectly('putSchema', { serviceIdentifier: exampleService }, putSchema.example.body)
  }

  /** Deletes the project of the examples. */
  async #removeProject(tenant: string): Promise<void> {
    const { rollout, pins, releases } = this.#project(tenant)
    const address = projectAddress(tenant, exampleProject)
    if (rollout) await this.#ask(address, { type: 'delete_rollout' })
    for (const device of [...pins.keys()]) await this.#ask(address, { type: 'delete_pin', device })
    for (const key of [...releases.values()]) await this.#ask(address, { type: 'delete_release', key })
  }

  /** A device with firmware, and a project with two releases, a pin and a rollout. */
  async #restoreFirmware(): Promise<void> {
    const device = deviceAddress(defaultTenant, exampleDevice)
    const firmwares = [{ firmware: exampleFirmware, hardware: 'rev-b', index: 0 }]
    const known = (this.#stateOf(device) ?? absentDevice(exampleDevice)) as DeviceState
    if (known.project !== exampleProject) {
      const { session } = known
      const hello = { type: 'hello', session, services: [], project: exampleProject, firmwares, isAutoUpdated: true }
      await this.#ask(device, { ...hello, isConnect: false })
    }
    const address = projectAddress(defaultTenant, exampleProject)
    const image = { hardware: null, index: 0, sha256: 'ab'.repeat(32), size: 1, createdAt: 1, createdBy: '' }
    for (const firmware of ['1.4.1', exampleFirmware]) {
      await this.#ask(address, { type: 'put_release', release: { ...image, firmware } })
    }
    await this.#ask(address, { type: 'put_pin', device: exampleDevice, firmware: exampleFirmware })
    const body = putRollout.body?.schema.parse(putRollout.example.body)
    await this.#ask(address, { type: 'put_rollout', body, id: 'abcdefghij', author: anonymous.user })
  }

  /** An action that was created but not run. */
  async #restoreAction(): Promise<void> {
    const address = actionAddress(defaultTenant, exampleAction)
    if (this.#http.assembly.context.system.recordOf(address, actionRecord)) return
    const { serviceIdentifier, updates } = createAction.example.body as ActionBody
    await this.#ask(actionPageAddress(defaultTenant, exampleAction, 0), { type: 'put', devices: [exampleDevice] })
    const action = { serviceIdentifier, updates, createdBy: anonymous.user, total: 1 }
    await this.#ask(address, { type: 'begin', action })
  }

  async #ensureUser(tenant: string, name: string, roles: readonly string[], isIn = false): Promise<string> {
    const found = rowByName(this.#directory, name)
    if (!found || found.tenant !== tenant) {
      const email = `${name}@acme.example`
      // The id of a user that was created or renamed by a call.
      for (const id of this.#directory.byEmail.get(foldEmail(email)) ?? [])
        await this.#ask(directoryAddress, { type: 'remove_user', user: id })
      const user = { id: randomId((bytes) => world.random(bytes)), tenant, name, email, roles }
      const code = { hash: hashOf(name), expiresAt: world.now() + 3_600_000_000, resetsFactors: false }
      await this.#ask(directoryAddress, { type: 'add_user', user, code })
      if (isIn) {
        const redeem = { type: 'redeem_code', codeHash: code.hash, passwordHash: `plain:0:${examplePassword}` }
        await this.#ask(accountAddress(tenant, user.id), redeem)
      }
    }
    const id = rowByName(this.#directory, name)?.id ?? ''
    if (!isIn) return id
    await this.#ask(directoryAddress, { type: 'update_user', user: id, roles, state: 'active' })
    if (name in tenantOf) return id
    const { session } = this.#stateOf(sessionAddress(tenant, exampleSession)) as SessionState
    if (!session) await this.#beginSession(tenant, id, exampleSession)
    return id
  }

  async #removeUser(name: string): Promise<void> {
    const row = rowByName(this.#directory, name)
    if (row) await this.#ask(directoryAddress, { type: 'remove_user', user: row.id })
  }

  async #signIn(user: UserName): Promise<void> {
    const tenant = tenantOf[user]
    if (user === 'eve' && !this.#tenant(tenant).roles.has('eve')) {
      await this.#ask(tenantAddress(tenant), { type: 'put_role', role: 'eve', grants: [] })
    }
    const id = await this.#ensureUser(tenant, user, [user === 'eve' ? 'eve' : 'admin'], true)
    const account = this.#stateOf(accountAddress(tenant, id)) as AccountState
    const passwordHash = `plain:0:${examplePassword}`
    const version = account.credentials?.version ?? 0
    await this.#ask(accountAddress(tenant, id), { type: 'set_password', version, passwordHash, keep: undefined })
    const authorization = `Basic ${Buffer.from(`${user}:${examplePassword}`).toString('base64')}`
    const place = { host: 'localhost', address: '127.0.0.1', agent: 'test' }
    const { token } = await this.#http.identity.logins.basicToken({ authorization, isOffline: false, origin: place })
    this.#tokens.set(user, token)
  }

  #beginSession(tenant: string, user: string, id: string): Promise<unknown> {
    const { credentials } = this.#stateOf(accountAddress(tenant, user)) as AccountState
    const endsAt = world.now() + 3_600_000_000
    const session = { id, scheme: 'basic', hasRefresh: false, endsAt, address: '', agent: '' }
    const version = credentials?.version ?? 0
    return this.#ask(accountAddress(tenant, user), { type: 'begin_session', session, version })
  }

  /** Calls an operation directly, as an administrator. */
  async #callDirectly(name: string, parameters: object, body: unknown): Promise<void> {
    const { context } = this.#http.assembly
    const open = [...linkRoutes(context), ...metaRoutes(context), ...schemaRoutes(context)]
    const binding = open.find(({ entry }) => entry.name === name)
    if (!binding) throw new Error(`no operation answers ${name}`)
    const parsed = binding.entry.body?.schema.parse(body)
    const asked = { parameters, query: {}, body: parsed, bodyBytes: new Uint8Array(0), header: () => '' }
    const call = { caller: anonymous, ...asked }
    await binding.answer(call as unknown as Call)
  }

  #project(tenant: string): ProjectState {
    return this.#stateOf(projectAddress(tenant, exampleProject)) as ProjectState
  }

  #shownProject(tenant: string): unknown {
    const { releases, pins, rollout } = this.#project(tenant)
    return [[...releases], [...pins], rollout?.body, rollout?.state]
  }

  get #directory(): DirectoryState {
    return this.#stateOf(directoryAddress) as DirectoryState
  }

  #tenant(tenant: string): TenantState {
    return this.#stateOf(tenantAddress(tenant)) as TenantState
  }

  #stateOf(address: ActorAddress): unknown {
    return this.#http.assembly.context.system.peek(address)
  }

  #ask(address: ActorAddress, command: unknown): Promise<unknown> {
    return this.#http.assembly.context.system.ask(address, command)
  }
}
