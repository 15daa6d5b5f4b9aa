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

const climate = 'climate'
const temperature = 0x2000
const warm = { '>': [{ var: '0x2000' }, 30] }

/** Who may read the climate of these devices. */
export const reading = (...devices: string[]): Grant => ({
  permissions: { service: ['read'] },
  devices,
  services: [climate],
})

/** A fleet of one service, with alarms that `ann` made. */
export class AlarmFixture {
  stage: IdentityFixture

  constructor(stage: IdentityFixture) {
    this.stage = stage
  }

  /** `ann` may read all that `grants` reach. */
  static async open(grants: readonly Grant[] = [reading('*')]): Promise<AlarmFixture> {
    const stage = await IdentityFixture.open()
    await stage.putRole('ops', grants)
    await stage.addUser('ann', { roles: ['ops'] })
    return new AlarmFixture(stage)
  }

  get ann(): string {
    return formatCrn({ type: 'user', id: this.stage.row('ann').id })
  }

  /** Devices that say once how warm it is. */
  async bring(degrees: Readonly<Record<string, number>>): Promise<void> {
    const { system, intern } = this.stage.assembly.context
    const type = propertyTypeOf('float') as PropertyType
    const shape = intern(climate, [{ propId: temperature, type, modifier: 0 }])
    const services = [{ shape, items: [] }]
    const asked = Object.entries(degrees).flatMap(([device, value]) => {
      const updates = [{ serviceIdentifier: climate, propId: temperature, value, timestamp: undefined }]
      const post = { type: 'post', session: undefined, seq: undefined, services, updates } as const
      return [
        system.ask(tenantAddress('default'), { type: 'admit_device', device, meta: {} }),
        system.ask(deviceAddress('default', device), post),
      ]
    })
    await this.stage.wait(Promise.all(asked))
  }

  /** Begun, while the world stands still. */
  saying(device: string, value: number): Promise<unknown> {
    const { system } = this.stage.assembly.context
    const updates = [{ serviceIdentifier: climate, propId: temperature, value, timestamp: undefined }]
    const post = { type: 'post', session: undefined, seq: undefined, services: undefined, updates } as const
    return system.ask(deviceAddress('default', device), post)
  }

  body(more: object = {}): AlarmBody {
    const whole = { name: 'Warm', severity: 'info', serviceIdentifier: climate, condition: warm }
    return AlarmBody.parse({ ...whole, ...more })
  }

  async put(id: string, more: object = {}, author = this.ann): Promise<void> {
    await this.stage.wait(this.putting(id, more, author))
  }

  /** Begun, while the world stands still. */
  putting(id: string, more: object = {}, author = this.ann): Promise<unknown> {
    const isNew = !this.stage.tenantState().alarms.has(id)
    return this.ask({ type: 'put_alarm', id, isNew, body: this.body(more), author })
  }

  /** Asked of the tenant, while the world stands still. */
  ask(command: TenantCommand): Promise<unknown> {
    return this.stage.assembly.context.system.ask(tenantAddress('default'), command)
  }

  async putGroup(id: string, ...devices: string[]): Promise<void> {
    const isNew = !this.stage.tenantState().groups.has(id)
    const body = { name: 'Hall', devices }
    await this.stage.tenant('default', { type: 'put_group', id, isNew, body, author: this.ann })
  }

  async putSchema(names: Readonly<Record<string, string>>): Promise<void> {
    const properties = Object.fromEntries(Object.entries(names).map(([propId, name]) => [propId, { name }]))
    const schema = ServiceSchema.parse({ name: 'Climate', properties })
    await this.stage.tenant('default', { type: 'put_schema', service: climate, schema })
  }

  /** Nobody is awake any more, and what comes is not heard of by anybody's report. */
  async sleep(devices: readonly string[]): Promise<void> {
    const { world } = this.stage
    // None of them has a link: they go offline first.
    world.spend(graceMs)
    await world.advance(250)
    world.spend(forgetAfterMs + 1)
    for (let rounds = 0; rounds < 200 && devices.some((device) => this.isAwake(device)); rounds++)
      await world.advance(250)
    const awake = devices.filter((device) => this.isAwake(device))
    if (awake.length > 0) throw new Error(`${awake.length} devices do not sleep`)
  }

  isAwake(device: string): boolean {
    return this.stage.assembly.context.system.registry.awake(deviceAddress('default', device)) !== undefined
  }

  /** Where alarms are or were active: by device, `hot` for one that is, `(hot)` for one that was, sorted. */
  standing(devices: readonly string[]): Record<string, string> {
    const { system } = this.stage.assembly.context
    const rows = devices.map((device) => {
      const alarms = system.peek(deviceAddress('default', device))?.alarms
      const known = [...(alarms ?? [])].filter(([, { since }]) => since > 0)
      return [device, known.map(([id, { isActive }]) => (isActive ? id : `(${id})`)).sort()] as const
    })
    return Object.fromEntries(rows.filter(([, ids]) => ids.length > 0).map(([device, ids]) => [device, ids.join(' ')]))
  }

  /** Likewise as the index has it: which rows are listed. */
  async listed(): Promise<readonly string[]> {
    const pages = this.stage.assembly.context.listing.entries('alarm', 'default')
    const rows = await this.stage.wait(pages.next(100_000))
    await pages.close()
    return rows
  }

  /** Alarms with something still to be judged by. */
  get due(): readonly string[] {
    const { alarms, judged } = this.stage.tenantState()
    return [...judged].filter(([id, { sweeping }]) => sweeping !== null || !alarms.has(id)).map(([id]) => id)
  }
}
