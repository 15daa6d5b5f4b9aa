import { WebSocket } from 'ws'
import { anonymous, operator } from '#access/built-in-callers'
import { hashOf } from '#access/secret-text'
import { accountAddress } from '#actors/account/state'
import { actionAddress, actionPageAddress, actionRecord } from '#actors/action/action'
import { deviceAddress } from '#actors/device/device'
import { absentDevice } from '#actors/device/state'
import { rowByName } from '#actors/directory/queries'
import { directoryAddress } from '#actors/directory/state'
import { projectAddress } from '#actors/project/state'
import { sessionAddress } from '#actors/session/state'
import { subscriberAddress } from '#actors/subscriber/state'
import { tenantAddress } from '#actors/tenant/commands'
import { auditIndex, defaultTenant, endingIndex } from '#actors/tenant/state'
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
import type { Binding } from '#http/call'
import { declaredServices } from '#link/declaration'
import type { ActionBody } from '#model/action'
import type { AlarmBody } from '#model/alarm'
import { formatCrn } from '#model/crn'
import { randomId } from '#model/identifier'
import type { Grant } from '#model/scope'
import { foldEmail } from '#model/user'
import type { ActorAddress } from '#runtime/actor'
import { LinkClient } from '#test/blackbox/link-client'
import { root } from '#test/blackbox/signed-in-user'
import { until, world } from '#test/http/http-fixture'
import { SignInServer } from '#test/routes/sign-in-server'

/** The ids in the examples of the operations. */
const apiKey = '4Qm8sUx2Bw'
const provisioningKey = '6Rk2vNd8Yj'
export const exampleSession = '3Nc7xJr4Vq'
/** The password of all users. */
export const examplePassword = root.password
const passwordHash = `plain:0:${examplePassword}`
export const otherTenant = 'other'
/** The topic that `eve` is subscribed to; the examples name another one. */
const subscribedFunction = '7Gm2sXv5He'

/** The callers. `eve` belongs to tenant `default` and has role `eve`, whose grants each test sets; `olaf` administers `other`. */
export type UserName = 'eve' | 'olaf'
const tenantOf = { eve: defaultTenant, olaf: otherTenant } as const satisfies Record<UserName, string>

/** The services of the device in the examples. */
const services = [{ serviceIdentifier: exampleService, properties: [{ propId: 8192, type: 'FLOAT' }] }]

/** The whole server over real sockets and in memory, with everything that the examples need. */
export class AccessFixture {
  readonly http: SignInServer
  readonly #tokens = new Map<UserName, string>()
  device: LinkClient | undefined

  private constructor(http: SignInServer) {
    this.http = http
  }

  /** `more`: additional bindings of routes. */
  static async open(more: readonly Binding[] = []): Promise<AccessFixture> {
    return new AccessFixture(await SignInServer.open({ bindings: more }))
  }

  get context() {
    return this.http.assembly.context
  }

  get system() {
    return this.context.system
  }

  async close(): Promise<void> {
    this.device?.cut()
    await this.http.close()
  }

  /**
   * Restores everything that an earlier call removed or created, signs the callers in, and sets the grants of role
   * `eve`.
   */
  async restore(grants: readonly Grant[]): Promise<void> {
    await this.#restoreOther()
    const bob = rowByName(this.#directory, 'bob')
    if (bob) await this.ask(directoryAddress, { type: 'remove_user', user: bob.id })
    for (const tenant of [defaultTenant, otherTenant]) await this.#restoreTenant(tenant)
    for (const user of ['eve', 'olaf'] as const) await this.#signIn(user)
    await this.#restoreSubscription()
    await this.restoreGrants(grants)
  }

  /** Restores less than `restore`: enough if no call has changed anything except these grants. */
  async restoreGrants(grants: readonly Grant[]): Promise<void> {
    // Keys are rotated at most once a minute.
    this.http.pass(61_000)
    await this.allow(grants)
    await this.evaluated()
  }

  /** Sets the grants of role `eve`. */
  async allow(grants: readonly Grant[]): Promise<void> {
    await this.ask(tenantAddress(defaultTenant), { type: 'put_role', role: 'eve', grants })
  }

  /**
   * Waits until devices have evaluated all edits, because some notices follow the answer, and until a connected device has
   * accepted its desired values.
   */
  async evaluated(): Promise<void> {
    const { alarms, evaluated } = this.#tenant(defaultTenant)
    const isSweeping = () => [...evaluated].some(([id, { sweeping }]) => sweeping !== null || !alarms.has(id))
    const isDesired = () => (this.system.peek(deviceAddress(defaultTenant, exampleDevice))?.desired.size ?? 0) > 0
    const isLinked = () => this.device?.socket.readyState === WebSocket.OPEN
    await until(() => !isSweeping() && !(isLinked() && isDesired()))
  }

  /** Connects the device of the examples, on its own link. It accepts every write. */
  async link(): Promise<void> {
    this.device?.cut()
    const authorization = await this.deviceAuthorization()
    const device = new LinkClient(this.http, 'json', undefined, { authorization })
    this.device = device
    device.socket.on('message', (data) => {
      const { type, flakeAddress, id, updates = [] } = JSON.parse(String(data))
      const results = updates.map(({ propId }: { propId: number }) => ({ propId, status: 'OK' }))
      if (type === 'WRITE') device.send({ type: 'RESULT', flakeAddress, id, results })
    })
    await device.opened()
    await device.hello(exampleDevice, services)
  }

  /** The credential of the device in the examples. */
  async deviceAuthorization(): Promise<string> {
    const secret = 'of the device'
    await this.ask(deviceAddress(defaultTenant, exampleDevice), { type: 'set_secret', hash: hashOf(secret) })
    return `Basic ${Buffer.from(`${exampleDevice}:${secret}`).toString('base64')}`
  }

  /** `body`: bytes as they are, other values as JSON. */
  async call(
    user: UserName | undefined,
    method: string,
    path: string,
    body?: unknown,
    more: Record<string, string> = {},
  ) {
    const response = await fetch(this.http.base + path, {
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

  /** The credential of a caller: `Bearer <token>`. */
  authorizationOf(user: UserName): string {
    return `Bearer ${this.#tokens.get(user)}`
  }

  /** The id of another session of the caller. */
  async secondSession(user: UserName): Promise<string> {
    const id = randomId((bytes) => world.random(bytes))
    await this.#beginSession(tenantOf[user], rowByName(this.#directory, user)?.id ?? '', id)
    return id
  }

  /** Everything that a tenant stores, as text, without the role and sessions of the caller, which always change. */
  storedText(tenant: string): string {
    const { schemas, roles, apiKeys, provisioningKeys, groups, alarms, functions, templates } = this.#tenant(tenant)
    const users = [...this.#directory.users.values()].filter((row) => row.tenant === tenant && !(row.name in tenantOf))
    const device = this.system.peek(deviceAddress(tenant, exampleDevice))
    const named = [...roles].filter(([name]) => name !== 'eve')
    const subscriptions = tenant === defaultTenant ? this.#subscriber.subscriptions : []
    const { releases, pins, rollout } = this.system.peek(projectAddress(tenant, exampleProject))
    const project = [[...releases], [...pins], rollout?.body, rollout?.state]
    const maps = [schemas, apiKeys, provisioningKeys, groups, alarms, functions, templates].map((each) => [...each])
    return JSON.stringify([maps, named, subscriptions, users, project, device?.meta ?? 'none'])
  }

  /** The audit of both tenants: of the last three entries of each, those that are newer than a known one. */
  async audit(known: readonly (string | undefined)[] = []): Promise<readonly string[][]> {
    await this.system.gate.whenStored()
    return await Promise.all(
      [defaultTenant, otherTenant].map(async (tenant, place) => {
        const entries = await this.entries(auditIndex, tenant, 3)
        const end = entries.indexOf(known[place] ?? '')
        return entries.slice(0, end < 0 ? entries.length : end)
      }),
    )
  }

  /** The first entries of an index. */
  async entries(index: string, tenant: string, countMax = 100_000): Promise<readonly string[]> {
    const pages = this.context.listing.entries(index, tenant)
    const found = await pages.next(countMax)
    await pages.close()
    return found
  }

  /** Tenant `other` with its first settings, and no tenant `third`. */
  async #restoreOther(): Promise<void> {
    const stateOf = (tenant: string) => this.#directory.tenants.get(tenant)?.state
    if (stateOf('third') === 'active') await this.ask(directoryAddress, { type: 'delete_tenant', tenant: 'third' })
    await until(() => stateOf('third') === undefined && stateOf(otherTenant) !== 'deleting')
    const settings = { name: 'Other Works', hosts: [], twoFactor: 'optional', basic: true }
    const added = { type: 'add_tenant', tenant: { tenantIdentifier: otherTenant, ...settings } }
    const changed = { type: 'update_tenant', tenant: otherTenant, change: settings }
    await this.ask(directoryAddress, stateOf(otherTenant) ? changed : added)
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
      await this.ask(address, { type: 'add_api_key', ...key })
    }
    if (!state.provisioningKeys.has(provisioningKey)) {
      const key = { id: provisioningKey, name: 'Hall 3', hash, expiresAt: null, maxDevices: 200 }
      await this.ask(address, { type: 'add_provisioning_key', ...key })
    }
    const grants = [{ permissions: { service: ['read'], meta: ['read', 'update'] }, devices: ['*'], services: ['*'] }]
    await this.ask(address, { type: 'put_role', role: 'ops', grants })
    await this.ensureUser(tenant, tenant === defaultTenant ? 'ann' : 'ona', ['operator'], true)
    for (const id of state.alarms.keys()) await this.ask(address, { type: 'delete_alarm', id })
    await this.#restoreFunctions(tenant)
    for (const id of state.groups.keys()) await this.ask(address, { type: 'delete_group', id })
    const made = deviceAddress(tenant, 'PUMP-7')
    if (this.system.peek(made)) await this.ask(made, { type: 'remove' })
    if (tenant === defaultTenant) await this.#restoreData()
    else for (const service of [...state.schemas.keys()]) await this.ask(address, { type: 'delete_schema', service })
  }

  /** Two functions and the templates of their mails, without subscriptions; none in the other tenant. */
  async #restoreFunctions(tenant: string): Promise<void> {
    const { functions, templates } = this.#tenant(tenant)
    const address = tenantAddress(tenant)
    const kept = tenant === defaultTenant ? [exampleFunction, subscribedFunction] : []
    for (const id of [...functions.keys()])
      if (!kept.includes(id)) await this.ask(address, { type: 'delete_function', id })
    for (const name of [...templates.keys()]) await this.ask(address, { type: 'delete_template', name })
    // Until no subscription to a deleted function remains.
    while ((await this.entries(endingIndex, tenant, 1)).length > 0)
      await new Promise((resolve) => setTimeout(resolve, 1))
    const body = createFunction.body?.schema.parse(createFunction.example.body)
    for (const id of kept) {
      await this.ask(address, { type: 'put_function', id, isNew: !functions.has(id), body, author: anonymous.user })
    }
    if (tenant !== defaultTenant) return
    const texts = putTemplate.body?.schema.parse(putTemplate.example.body)
    await this.ask(address, { type: 'put_template', name: exampleTemplate, body: texts, author: anonymous.user })
  }

  /** The subscription of `eve` to one function, with the id of the examples. */
  async #restoreSubscription(): Promise<void> {
    const { tenant, id } = this.#subscriber
    const address = subscriberAddress(tenant, id)
    await this.ask(address, { type: 'erase' })
    const made = { createdBy: formatCrn({ type: 'user', id }), createdAt: 1, origin: '' }
    const what = { id: exampleSubscription, function: subscribedFunction, type: 'email', locale: 'en' }
    await this.ask(address, { type: 'subscribe', subscription: { ...what, ...made }, from: 0 })
  }

  get #subscriber() {
    return this.system.peek(subscriberAddress(defaultTenant, rowByName(this.#directory, 'eve')?.id ?? ''))
  }

  async #restoreData(): Promise<void> {
    const device = deviceAddress(defaultTenant, exampleDevice)
    const declared = declaredServices(services, this.context.devices.intern)
    if (!this.system.peek(device)) {
      await this.ask(tenantAddress(defaultTenant), { type: 'admit_device', device: exampleDevice, meta: {} })
    }
    const { session, project } = this.system.peek(device) ?? absentDevice(exampleDevice)
    if (project !== exampleProject) {
      const firmwares = [{ firmware: exampleFirmware, hardware: 'rev-b', index: 0 }]
      const hello = { session, services: declared, project: exampleProject, firmwares, isAutoUpdated: true }
      await this.ask(device, { type: 'hello', ...hello, isConnect: false })
    }
    const updates = [{ serviceIdentifier: exampleService, propId: 8192, value: 21.5 }]
    await this.ask(device, { type: 'post', services: declared, updates })
    await this.ask(device, { type: 'patch_meta', patch: { location: { building: 'A', floor: 1 } } })
    await this.#restoreProject()
    const address = tenantAddress(defaultTenant)
    const group = { name: 'Hall 3', devices: [exampleDevice] }
    await this.ask(address, { type: 'put_group', id: exampleGroup, isNew: true, body: group, author: anonymous.user })
    // The alarm is active on the device of the examples while its author exists.
    const watched = { condition: { '>': [{ var: '0x2000' }, 20] }, forSeconds: 0 }
    const alarm = { ...(createAlarm.body?.schema.parse(createAlarm.example.body) as AlarmBody), ...watched }
    const author = formatCrn({ type: 'user', id: rowByName(this.#directory, 'root')?.id ?? '' })
    await this.ask(address, { type: 'put_alarm', id: exampleAlarm, isNew: true, body: alarm, author })
    await this.#restoreAction()
    const schema = putSchema.body?.schema.parse(putSchema.example.body)
    await this.ask(address, { type: 'put_schema', service: exampleService, schema })
  }

  /** Deletes the project of the examples. */
  async #removeProject(tenant: string): Promise<void> {
    const { rollout, pins, releases } = this.system.peek(projectAddress(tenant, exampleProject))
    const address = projectAddress(tenant, exampleProject)
    if (rollout) await this.ask(address, { type: 'delete_rollout' })
    for (const device of [...pins.keys()]) await this.ask(address, { type: 'delete_pin', device })
    for (const key of [...releases.values()]) await this.ask(address, { type: 'delete_release', key })
  }

  /** A project with two releases, a pin and a rollout. */
  async #restoreProject(): Promise<void> {
    const address = projectAddress(defaultTenant, exampleProject)
    const image = { hardware: null, index: 0, sha256: 'ab'.repeat(32), size: 1, createdAt: 1, createdBy: '' }
    for (const firmware of ['1.4.1', exampleFirmware]) {
      await this.ask(address, { type: 'put_release', release: { ...image, firmware } })
    }
    await this.ask(address, { type: 'put_pin', device: exampleDevice, firmware: exampleFirmware })
    const body = putRollout.body?.schema.parse(putRollout.example.body)
    await this.ask(address, { type: 'put_rollout', body, id: 'abcdefghij', author: anonymous.user })
  }

  /** An action that was created but not run. */
  async #restoreAction(): Promise<void> {
    const address = actionAddress(defaultTenant, exampleAction)
    if (this.system.recordOf(address, actionRecord)) return
    const { serviceIdentifier, updates } = createAction.example.body as ActionBody
    await this.ask(actionPageAddress(defaultTenant, exampleAction, 0), { type: 'put', devices: [exampleDevice] })
    const action = { serviceIdentifier, updates, createdBy: anonymous.user, total: 1 }
    await this.ask(address, { type: 'begin', action })
  }

  async ensureUser(tenant: string, name: string, roles: readonly string[], isIn = false): Promise<string> {
    const found = rowByName(this.#directory, name)
    if (!found || found.tenant !== tenant) {
      const email = `${name}@acme.example`
      // The id of a user that was created or renamed by a call.
      for (const id of this.#directory.byEmail.get(foldEmail(email)) ?? [])
        await this.ask(directoryAddress, { type: 'remove_user', user: id })
      const user = { id: randomId((bytes) => world.random(bytes)), tenant, name, email, roles }
      const code = { hash: hashOf(name), expiresAt: world.now() + 3_600_000_000, resetsFactors: false }
      await this.ask(directoryAddress, { type: 'add_user', user, code })
      const redeem = { type: 'redeem_code', codeHash: code.hash, passwordHash }
      if (isIn) await this.ask(accountAddress(tenant, user.id), redeem)
    }
    const id = rowByName(this.#directory, name)?.id ?? ''
    if (!isIn) return id
    await this.ask(directoryAddress, { type: 'update_user', user: id, roles, state: 'active' })
    if (name in tenantOf) return id
    const { session } = this.system.peek(sessionAddress(tenant, exampleSession))
    if (!session) await this.#beginSession(tenant, id, exampleSession)
    return id
  }

  async #signIn(user: UserName): Promise<void> {
    const tenant = tenantOf[user]
    if (user === 'eve' && !this.#tenant(tenant).roles.has('eve')) {
      await this.ask(tenantAddress(tenant), { type: 'put_role', role: 'eve', grants: [] })
    }
    const id = await this.ensureUser(tenant, user, [user === 'eve' ? 'eve' : 'admin'], true)
    const version = this.system.peek(accountAddress(tenant, id)).credentials?.version ?? 0
    await this.ask(accountAddress(tenant, id), { type: 'set_password', version, passwordHash, keep: undefined })
    const authorization = `Basic ${Buffer.from(`${user}:${examplePassword}`).toString('base64')}`
    const place = { host: 'localhost', address: '127.0.0.1', agent: 'test' }
    const { token } = await this.http.identity.logins.basicToken({ authorization, isOffline: false, origin: place })
    this.#tokens.set(user, token)
  }

  #beginSession(tenant: string, user: string, id: string): Promise<unknown> {
    const version = this.system.peek(accountAddress(tenant, user)).credentials?.version ?? 0
    const endsAt = world.now() + 3_600_000_000
    const session = { id, scheme: 'basic', hasRefresh: false, endsAt, address: '', agent: '' }
    return this.ask(accountAddress(tenant, user), { type: 'begin_session', session, version })
  }

  get #directory() {
    return this.system.peek(directoryAddress)
  }

  #tenant(tenant: string) {
    return this.system.peek(tenantAddress(tenant))
  }

  ask(address: ActorAddress, command: unknown): Promise<unknown> {
    return this.system.ask(address, command)
  }
}
