import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Permission, RouteEntry } from '#api/entry'
import { exampleDevice, exampleService } from '#api/state-shape'
import { type Action, actions, type Grant, type Resource, resources } from '#model/scope'
import { bindingsOf } from '#routes/bindings'
import { expectDocumented } from '#test/api/documented-answer'
import { AccessGround, type Asker, exampleSession, other } from '#test/routes/access-ground'

/**
 * Every route, called as its example says by six callers; what each gets follows from the entry alone. A route that does
 * otherwise needs a row of its own, with the reason. Contract 1.4, 2.
 */

const callers = ['nobody', 'other tenant', 'without the right', 'other device', 'other service', 'right'] as const
type CallerName = (typeof callers)[number]

/** A status, or the one of the example. `empty`, `bare`: the same, with nothing inside, or with a device without services. */
type Outcome = number | 'success' | 'empty' | 'bare'
type Row = readonly [Outcome, Outcome, Outcome, Outcome, Outcome, Outcome]

const signedIn = 'success'
const byWithin = {
  'service of device': [401, 404, 403, 404, 404, 'success'],
  device: [401, 404, 403, 404, 'success', 'success'],
  service: [401, 404, 403, 404, 404, 'success'],
  list: [401, 'empty', 403, 'empty', 'empty', 'success'],
} as const satisfies Record<string, Row>
const tenantNamed: Row = [401, 404, 403, 'success', 'success', 'success']
const tenantWhole: Row = [401, 'success', 403, 'success', 'success', 'success']
const everybody: Row = ['success', 'success', 'success', 'success', 'success', 'success']
const whoeverIsIn: Row = [401, signedIn, signedIn, signedIn, signedIn, signedIn]
const hooked: Row = [401, 'success', 403, 'success', 'success', 'success']
const unproven: Row = [401, 401, 401, 401, 401, 401]

const ownRows: Readonly<Record<string, { readonly why: string; readonly row: Row }>> = {
  // What is asked for comes with the request.
  signUp: { why: 'the code is the credential', row: unproven },
  readToken: { why: 'the password is the credential', row: unproven },
  refreshToken: { why: 'the refresh token is the credential', row: unproven },
  logOut: { why: 'a Basic session has no key to prove', row: whoeverIsIn },
  // Schemas are of services: devices don't narrow them.
  readSchema: { why: 'no device in it', row: [401, 404, 403, 'success', 404, 'success'] },
  deleteSchema: { why: 'no device in it', row: [401, 404, 403, 'success', 404, 'success'] },
  listSchemas: { why: 'no device in it', row: [401, 'empty', 403, 'success', 'empty', 'success'] },
  putSchema: { why: 'another tenant makes its own', row: [401, 'success', 403, 'success', 404, 'success'] },
  putRole: { why: 'another tenant makes its own', row: tenantWhole },
  // Contract 3.1: services don't narrow devices.
  listDevices: { why: 'services narrow services', row: [401, 'empty', 403, 'empty', 'bare', 'success'] },
  listUpdates: { why: 'services narrow services', row: [401, 'empty', 403, 'empty', 'success', 'success'] },
  listMeta: { why: 'services narrow services', row: [401, 'empty', 403, 'empty', 'success', 'success'] },
  createDevice: { why: 'made outside: as if it could not be', row: [401, 'success', 403, 404, 'success', 'success'] },
  // What is bound to devices is there for who reaches all of them; services don't narrow it.
  listGroups: { why: 'its devices', row: [401, 'empty', 403, 'empty', 'success', 'success'] },
  createGroup: { why: 'its devices, which need not be there', row: [401, 'success', 403, 404, 'success', 'success'] },
  ...Object.fromEntries(
    ['readGroup', 'updateGroup', 'deleteGroup'].map((name) => [
      name,
      { why: 'its devices', row: [401, 404, 403, 404, 'success', 'success'] as const },
    ]),
  ),
  // Of an action its devices are shown; those that he may not change are in none.
  readAction: { why: 'its devices and their service', row: [401, 404, 403, 404, 404, 'success'] },
  // Alarms as groups.
  listAlarms: { why: 'its devices', row: [401, 'empty', 403, 'empty', 'success', 'success'] },
  createAlarm: { why: 'its devices, which need not be there', row: [401, 'success', 403, 404, 'success', 'success'] },
  ...Object.fromEntries(
    ['readAlarm', 'putAlarm', 'deleteAlarm'].map((name) => [
      name,
      { why: 'its devices', row: [401, 404, 403, 404, 'success', 'success'] as const },
    ]),
  ),
  listAlarmStatus: { why: 'its device', row: [401, 'empty', 403, 'empty', 'success', 'success'] },
  // Functions as groups; their services are asked for where they are made.
  listFunctions: { why: 'its devices', row: [401, 'empty', 403, 'empty', 'success', 'success'] },
  createFunction: {
    why: 'its devices, which need not be there',
    row: [401, 'success', 403, 404, 'success', 'success'],
  },
  ...Object.fromEntries(
    ['readFunction', 'updateFunction', 'deleteFunction', 'testFunction'].map((name) => [
      name,
      { why: 'its devices', row: [401, 404, 403, 404, 'success', 'success'] as const },
    ]),
  ),
  // What mails say is of no device, and is said of any.
  listTemplates: { why: 'no device in it', row: [401, 'empty', 403, 'success', 'success', 'success'] },
  putTemplate: {
    why: 'another tenant makes its own; any device',
    row: [401, 'success', 403, 403, 'success', 'success'],
  },
  deleteTemplate: { why: 'any device', row: [401, 404, 403, 403, 'success', 'success'] },
  // His own: what they are about is asked for where they are made.
  listSubscriptions: { why: 'his own', row: [401, 'empty', 403, 'success', 'success', 'success'] },
  subscribe: { why: 'the topic comes with the body', row: [401, 400, 403, 'success', 'success', 'success'] },
  ...Object.fromEntries(
    ['readUnsubscribe', 'unsubscribeByLink'].map((name) => [
      name,
      { why: 'the signature is the credential', row: [403, 403, 403, 403, 403, 403] as const },
    ]),
  ),
  readOutbox: { why: 'the role admin itself, which the other tenant’s has', row: [401, 'success', 403, 403, 403, 403] },
  // Whoever has it can be anybody, and so must be able to do everything, what does not exist yet included.
  readBackup: { why: 'everything of every tenant', row: [401, 403, 403, 403, 403, 403] },
  // Projects tell of no device; releases, and rollouts that are for no groups, concern any of them.
  listProjects: { why: 'no device in it', row: [401, 'empty', 403, 'success', 'success', 'success'] },
  putRelease: {
    why: 'another tenant makes its own; any device',
    row: [401, 'success', 403, 403, 'success', 'success'],
  },
  putRollout: {
    why: 'another tenant makes its own; any device',
    row: [401, 'success', 403, 403, 'success', 'success'],
  },
  ...Object.fromEntries(
    ['deleteRelease', 'deleteRollout', 'pauseRollout', 'resumeRollout'].map((name) => [
      name,
      { why: 'any device', row: [401, 404, 403, 403, 'success', 'success'] as const },
    ]),
  ),
  listPins: {
    why: 'its devices; another tenant has no such project',
    row: [401, 404, 403, 'empty', 'success', 'success'],
  },
  putPin: { why: 'another tenant makes its own', row: [401, 'success', 403, 404, 'success', 'success'] },
  readImage: { why: 'the signature is the credential', row: [403, 403, 403, 403, 403, 403] },
  // A key speaks for any device.
  createProvisioningKey: { why: 'any device', row: [401, 'success', 403, 403, 'success', 'success'] },
  // The same id is there in both tenants.
  deleteProvisioningKey: { why: 'any device, same id', row: [401, 'success', 403, 403, 'success', 'success'] },
  deleteApiKey: { why: 'same id in both tenants', row: tenantWhole },
  readRole: { why: 'same name in both tenants', row: tenantWhole },
  deleteRole: { why: 'same name in both tenants', row: tenantWhole },
  // Tenants are the affair of one tenant alone.
  ...Object.fromEntries(
    [
      'listTenants',
      'createTenant',
      'readTenant',
      'updateTenant',
      'deleteTenant',
      'listSigningKeys',
      'rotateSigningKey',
    ].map((name) => [
      name,
      { why: 'tenant default alone', row: [401, 403, 403, 'success', 'success', 'success'] as const },
    ]),
  ),
}

/** What gives, edits or ends rights needs those rights as well; what is bound to devices needs them to be read. */
const covering =
  /^(createUser|updateUser|deleteUser|renewUserCode|endUserSessions?|putRole|deleteRole|createApiKey|deleteApiKey|(create|update)(Group|Function)|(create|put)Alarm|subscribe)$/

/** Fields that an answer to `update` shows to a caller without `read`: they identify the thing, were sent, or are its outcome. */
const shownUnread: Readonly<Record<string, readonly string[]>> = {
  patchMeta: ['deviceIdentifier'],
  putRole: ['builtIn', 'grants', 'name', 'resourceIdentifier'],
  putSchema: ['schema', 'serviceIdentifier'],
  putPin: ['firmware'],
  // Contract 6.
  putRelease: ['firmware', 'hardware', 'index', 'sha256', 'size', 'createdAt', 'createdBy'],
  ...Object.fromEntries(['putRollout', 'pauseRollout', 'resumeRollout'].map((name) => [name, ['state']])),
  renewUserCode: ['code', 'expiresAt', 'name', 'resourceIdentifier'],
  rotateDeviceSecret: ['deviceIdentifier', 'secret'],
  rotateSigningKey: ['createdAt', 'kid'],
  ...Object.fromEntries(['writeDeviceProperties', 'writeServiceProperties'].map((name) => [name, ['updates']])),
  createAction: ['id'],
  triggerUpdate: ['status', 'message'],
}

/** §7. */
const emptyWhereUnknown = /^(updateSubscription|unsubscribe)$/

function rowOf({ name, access, path }: RouteEntry): Row {
  const own = ownRows[name]
  if (own) return own.row
  switch (access) {
    case 'none':
      return everybody
    case 'session':
    case 'person':
      return whoeverIsIn
    case 'proof':
    case 'person or proof':
    case 'link':
      return unproven
    case 'hook':
      return hooked
    default:
      if (access.within === 'tenant') return path.includes(':') ? tenantNamed : tenantWhole
      return byWithin[access.within]
  }
}

function permissionOf({ access }: RouteEntry): Permission | undefined {
  if (access === 'hook') return { resource: 'updates', action: 'update', within: 'tenant' }
  return typeof access === 'object' ? access : undefined
}

const give = (
  of: readonly Resource[],
  given: readonly Action[],
  [devices, services]: readonly [string, string] = ['*', '*'],
): Grant => ({
  permissions: Object.fromEntries(of.map((resource) => [resource, [...given]])),
  devices: [devices],
  services: [services],
})

/** What role of hers lets somebody of tenant `default` be each of the callers. */
function grantsOf(entry: RouteEntry, caller: CallerName): readonly Grant[] {
  const permission = permissionOf(entry)
  if (!permission || caller === 'nobody' || caller === 'other tenant') return []
  const { resource, action, mayCreate } = permission
  const rest = give(
    resources.filter((one) => one !== resource),
    actions,
  )
  if (caller === 'without the right') return [rest]
  const where: Readonly<Record<string, [string, string]>> = {
    'other device': ['ELSEWHERE-1', '*'],
    'other service': ['*', 'elsewhere'],
    right: ['*', '*'],
  }
  const exact = give([resource], mayCreate ? [action, 'create'] : [action], where[caller])
  return covering.test(entry.name) ? [exact, rest] : [exact]
}

let ground: AccessGround
beforeAll(async () => {
  ground = await AccessGround.open()
})
afterAll(() => ground?.close())

/** As bound with identity on; nothing is called here, so there is nothing behind it. */
const entries = bindingsOf({} as never, {} as never, {} as never).map(({ entry }) => entry)

async function prepare(entry: RouteEntry, grants: readonly Grant[]): Promise<void> {
  await ground.restore(grants)
  if (entry.example.parameters?.name === 'bob') await ground.bring('bob')
  if (/^write(Device|Service)Properties$/.test(entry.name)) await ground.link()
}

async function pathOf(
  { path, example, name }: RouteEntry,
  asker: Asker,
  more: Record<string, string> = {},
): Promise<string> {
  const parameters: Record<string, string> = { ...example.parameters, ...more }
  // One's own: everybody has another.
  if (name === 'endSession') parameters.id = await ground.secondSession(asker)
  const filled = path.replace(/:(\w+)/g, (_, parameter) => encodeURIComponent(parameters[parameter] ?? ''))
  return filled
}

/** Of a streamed one as it is. */
function bodyOf({ example, body }: RouteEntry): unknown {
  return body?.isStreamed ? Buffer.from(example.body as string) : example.body
}

function expected(outcome: Outcome, entry: RouteEntry): number {
  return typeof outcome === 'number' ? outcome : entry.example.status
}

describe.each(entries.map((entry) => [entry.name, entry] as const))('%s', (_, entry) => {
  const row = rowOf(entry)
  const { method, example } = entry

  test.each(callers.map((caller, index) => [caller, row[index] as Outcome] as const))(
    '%s: %s',
    async (caller, outcome) => {
      await prepare(entry, grantsOf(entry, caller))
      const before = ground.whole('default')
      const asker = caller === 'other tenant' ? 'olaf' : 'eve'
      const query = new URLSearchParams(example.query)
      const path = `${await pathOf(entry, asker)}${query.size > 0 ? `?${query}` : ''}`
      const answer = await ground.call(caller === 'nobody' ? undefined : asker, method, path, bodyOf(entry))
      expect(answer.status).toBe(expected(outcome, entry))
      expectDocumented(entry, answer)
      if (answer.status >= 400) {
        expect(answer.text).not.toContain(exampleDevice)
        expect(ground.whole('default')).toBe(before)
      }
      if (answer.status === 403) expect(answer.text).toBe('')
      if (answer.status === 404)
        expect(answer.text).toBe(emptyWhereUnknown.test(entry.name) ? '' : '{"error":"Not Found"}')
      if (answer.status === 401) expect(answer.headers.get('www-authenticate')).not.toBeNull()
      if (outcome === 'empty') expect(JSON.parse(answer.text)).toEqual([])
      if (outcome === 'bare')
        expect(JSON.parse(answer.text)).toEqual([{ deviceIdentifier: exampleDevice, services: [] }])
      const isProof = entry.access === 'proof' || entry.access === 'person or proof'
      if (isProof && answer.status === 401) {
        expect([JSON.parse(answer.text).error, answer.headers.get('dpop-nonce')]).toEqual([
          'missing proof',
          expect.stringMatching(/^[\w-]{22}$/),
        ])
      }
      if (caller === 'other tenant') {
        // His own tenant answers him, with nothing of ours.
        expect(ground.whole('default')).toBe(before)
        if (answer.status < 300 && method === 'GET') expect(answer.text).not.toMatch(/SENSOR-1|"ann"/)
      }
      const isUnread = caller === 'right' && permissionOf(entry)?.action === 'update'
      // Of subscriptions there are only one's own.
      if (isUnread && answer.text !== '' && answer.status < 300 && permissionOf(entry)?.resource !== 'notifications') {
        const shown = shownUnread[entry.name] ?? ['resourceIdentifier']
        expect(Object.keys(JSON.parse(answer.text)).filter((field) => !shown.includes(field))).toEqual([])
      }
      if (caller === 'other service' && typeof outcome !== 'number') {
        // An alarm and a function name their services to whoever reaches their devices.
        const isNarrowed = permissionOf(entry)?.within !== 'tenant' && !/^list(Alarms|Functions)$/.test(entry.name)
        expect(answer.text).not.toContain(method === 'GET' && isNarrowed ? exampleService : '\0')
      }
    },
  )
})

/** A call that makes something new needs `create`, one that changes something needs `update`. */
const putting = entries.filter((entry) => permissionOf(entry)?.mayCreate)

test('some entries make new things and change others', () => {
  expect(putting.map(({ name }) => name).sort()).toEqual([
    'putPin',
    'putRelease',
    'putRole',
    'putRollout',
    'putSchema',
    'putTemplate',
  ])
})

test.each(putting.map((entry) => [entry.name, entry] as const))(
  '%s needs the right for its effect',
  async (_, entry) => {
    const { resource } = permissionOf(entry) as Permission
    const rest = give(
      resources.filter((one) => one !== resource),
      actions,
    )
    const allow = (...given: Action[]) => ground.allow([give([resource], given), rest])
    const send = async (method = entry.method) =>
      (await ground.call('eve', method, await pathOf(entry, 'eve'), method === 'DELETE' ? undefined : bodyOf(entry)))
        .status
    await prepare(entry, [give(resources, actions)])
    expect(await send()).toBeLessThan(300)
    await allow('create')
    expect(await send()).toBe(403)
    await allow('update')
    expect(await send()).toBeLessThan(300)
    await allow('delete')
    expect(await send('DELETE')).toBe(204)
    await allow('update')
    expect(await send()).toBe(403)
    await allow('create')
    expect(await send()).toBeLessThan(300)
  },
)

/** Connections of other tenants are for callers who manage tenants. Contract 8. */
test.each<[string, Asker, readonly Grant[], number]>([
  ['another tenant', 'olaf', [], 0],
  ['the tenant itself', 'eve', [give(['health'], ['read'])], 1],
  ['who manages tenants', 'eve', [give(['health', 'tenants'], ['read'])], 1],
])('/health/status counts what is connected for %s', async (_, asker, grants, links) => {
  await ground.restore(grants)
  await ground.link()
  const { status, text } = await ground.call(asker, 'GET', '/health/status')
  expect([status, JSON.parse(text).links]).toEqual([200, links])
})

test('no row stands for a route that is not there', () => {
  expect(Object.keys(ownRows).filter((name) => !entries.some((entry) => entry.name === name))).toEqual([])
})

/** Contract 2, Model: holders of `tenants` in `default` mean another tenant, others may not even name their own. */
const ofTenants = entries.filter(({ query }) => {
  const takes = (tenant: string) => query?.safeParse({ tenant }).success
  return takes(other) && !takes('!')
})

describe.each(ofTenants.map((entry) => [entry.name, entry] as const))('%s of another tenant', (_, entry) => {
  const { method, example } = entry
  const { resource, action, mayCreate } = permissionOf(entry) as Permission
  const right = give([resource], mayCreate ? [action, 'create'] : [action])
  const rest = give(
    resources.filter((one) => one !== resource && one !== 'tenants'),
    actions,
  )
  const otherAction = actions.filter((one) => one !== action && !(mayCreate && one === 'create'))

  const send = async (asker: Asker, grants: readonly Grant[], tenant: string) => {
    await prepare(entry, grants)
    const name = example.parameters?.name
    const more: Record<string, string> = name === undefined || tenant === 'default' ? {} : { name: 'ona' }
    const before = ground.whole('default')
    const answer = await ground.call(
      asker,
      method,
      `${await pathOf(entry, asker, more)}?tenant=${tenant}`,
      example.body,
    )
    expect(ground.whole('default')).toBe(before)
    return answer
  }

  test('there are some of them', () => {
    expect(ofTenants.length).toBeGreaterThan(15)
  })

  test.each<[string, Asker, readonly Grant[], string]>([
    ['without tenants', 'eve', [right, rest], other],
    ['without tenants, his own', 'eve', [right, rest], 'default'],
    ['with another action on tenants', 'eve', [right, rest, give(['tenants'], otherAction)], other],
    ['from another tenant', 'olaf', [], 'default'],
    ['from another tenant, his own', 'olaf', [], other],
    ['one that is not there, without tenants', 'eve', [right, rest], 'nowhere'],
  ])('%s: 403', async (_, asker, grants, tenant) => {
    const answer = await send(asker, grants, tenant)
    expect([answer.status, answer.text]).toEqual([403, ''])
  })

  const tenants = give(['tenants'], mayCreate ? [action, 'create'] : [action])

  test('with the right on tenants: it is done there', async () => {
    const answer = await send('eve', [right, rest, tenants], other)
    expect(answer.status).toBe(example.status)
    if (method === 'GET') expect(answer.text).not.toMatch(/SENSOR-1|"ann"/)
  })

  test('one that is not there: 404', async () => {
    const answer = await send('eve', [right, rest, tenants], 'nowhere')
    expect([answer.status, JSON.parse(answer.text)]).toEqual([404, { error: 'Not Found' }])
  })

  test.each(['Other', 'crn#user:other', ''])('%j is no tenant: 400', async (tenant) => {
    const answer = await send('eve', [right, rest, tenants], encodeURIComponent(tenant))
    expect([answer.status, JSON.parse(answer.text).details[0].path]).toEqual([400, 'tenant'])
  })
})

test('the session that the examples name is somebody’s', () => {
  expect(entries.filter(({ example }) => example.parameters?.id === exampleSession)).not.toEqual([])
})
