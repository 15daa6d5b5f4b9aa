import { deviceAddress } from '#actors/device/device'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import { graceMs } from '#link/presence'
import { AlarmBody } from '#model/alarm'
import { formatCrn } from '#model/crn'
import { type PropertyType, propertyTypeOf } from '#model/property-type'
import type { Grant } from '#model/scope'
import { ServiceSchema } from '#model/service-schema'
import { forgetAfterMs } from '#runtime/system'
import { IdentityFixture } from '#test/access/identity-fixture'
import { listedRows } from '#test/workers/listed-rows'

const climate = 'climate'
const temperature = 0x2000
const warm = { '>': [{ var: '0x2000' }, 30] }

function updatesOf(value: number) {
  return [{ serviceIdentifier: climate, propId: temperature, value, timestamp: undefined }]
}

/** Read on the climate of these devices. */
export const readGrant = (...devices: string[]): Grant => ({
  permissions: { service: ['read'] },
  devices,
  services: [climate],
})

/** Devices with one service, and alarms of the user `ann`. */
export class AlarmFixture {
  identity: IdentityFixture

  constructor(identity: IdentityFixture) {
    this.identity = identity
  }

  static async open(grants: readonly Grant[] = [readGrant('*')]): Promise<AlarmFixture> {
    const identity = await IdentityFixture.open()
    await identity.putRole('ops', grants)
    await identity.addUser('ann', { roles: ['ops'] })
    return new AlarmFixture(identity)
  }

  get ann(): string {
    return formatCrn({ type: 'user', id: this.identity.row('ann').id })
  }

  /** Adds devices that report a temperature once. */
  async bring(degrees: Readonly<Record<string, number>>): Promise<void> {
    const {
      system,
      devices: { intern },
    } = this.identity.assembly.context
    const type = propertyTypeOf('float') as PropertyType
    const shape = intern(climate, [{ propId: temperature, type, modifier: 0 }])
    const services = [{ shape, items: [] }]
    const requests = Object.entries(degrees).flatMap(([device, value]) => {
      const post = { type: 'post', session: undefined, seq: undefined, services, updates: updatesOf(value) } as const
      const admitted = system.ask(tenantAddress('default'), { type: 'admit_device', device, meta: {} })
      return [admitted, system.ask(deviceAddress('default', device), post)]
    })
    await this.identity.wait(Promise.all(requests))
  }

  /** Reports without advancing the world. */
  requestReport(device: string, value: number): Promise<unknown> {
    const { system } = this.identity.assembly.context
    const fields = { session: undefined, seq: undefined, services: undefined, updates: updatesOf(value) } as const
    const post = { type: 'post', ...fields } as const
    return system.ask(deviceAddress('default', device), post)
  }

  body(more: object = {}): AlarmBody {
    const whole = { name: 'Warm', severity: 'info', serviceIdentifier: climate, condition: warm }
    return AlarmBody.parse({ ...whole, ...more })
  }

  async put(id: string, more: object = {}, author = this.ann): Promise<void> {
    await this.identity.wait(this.requestPut(id, more, author))
  }

  /** Puts an alarm without advancing the world. */
  requestPut(id: string, more: object = {}, author = this.ann): Promise<unknown> {
    const isNew = !this.identity.tenantState().alarms.has(id)
    return this.ask({ type: 'put_alarm', id, isNew, body: this.body(more), author })
  }

  /** Sends a command to the tenant without advancing the world. */
  ask(command: TenantCommand): Promise<unknown> {
    return this.identity.assembly.context.system.ask(tenantAddress('default'), command)
  }

  async putGroup(id: string, ...devices: string[]): Promise<void> {
    const isNew = !this.identity.tenantState().groups.has(id)
    const body = { name: 'Hall', devices }
    await this.identity.tenant('default', { type: 'put_group', id, isNew, body, author: this.ann })
  }

  async putSchema(names: Readonly<Record<string, string>>): Promise<void> {
    const properties = Object.fromEntries(Object.entries(names).map(([propId, name]) => [propId, { name }]))
    const schema = ServiceSchema.parse({ name: 'Climate', properties })
    await this.identity.tenant('default', { type: 'put_schema', service: climate, schema })
  }

  /** Waits until these devices sleep, so that only a sweep evaluates their alarms. */
  async sleep(devices: readonly string[]): Promise<void> {
    const { world } = this.identity
    // The devices have no connection, and go offline first.
    world.spend(graceMs)
    await world.advance(250)
    world.spend(forgetAfterMs + 1)
    for (let rounds = 0; rounds < 200 && devices.some((device) => this.isAwake(device)); rounds++)
      await world.advance(250)
    const awake = devices.filter((device) => this.isAwake(device))
    if (awake.length > 0) throw new Error(`${awake.length} devices do not sleep`)
  }

  isAwake(device: string): boolean {
    return this.identity.assembly.context.system.registry.awake(deviceAddress('default', device)) !== undefined
  }

  /** The alarms of each device, sorted: `hot` for an active one, `(hot)` for one that was active. */
  alarmStates(devices: readonly string[]): Record<string, string> {
    const { system } = this.identity.assembly.context
    const rows = devices.map((device) => {
      const alarms = system.peek(deviceAddress('default', device))?.alarms
      const known = [...(alarms ?? [])].filter(([, { since }]) => since > 0)
      return [device, known.map(([id, { isActive }]) => (isActive ? id : `(${id})`)).sort()] as const
    })
    return Object.fromEntries(rows.filter(([, ids]) => ids.length > 0).map(([device, ids]) => [device, ids.join(' ')]))
  }

  listedRows(): Promise<readonly string[]> {
    return listedRows(this.identity, 'alarm')
  }

  /** Alarms whose sweep has not ended. */
  get unfinishedAlarms(): readonly string[] {
    const { alarms, evaluated } = this.identity.tenantState()
    return [...evaluated].filter(([id, { sweeping }]) => sweeping !== null || !alarms.has(id)).map(([id]) => id)
  }
}
