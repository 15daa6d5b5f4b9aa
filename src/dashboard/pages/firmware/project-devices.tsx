import { useState } from 'preact/hooks'
import type { FirmwareView } from '#client/client'
import { fleetCommand } from '#dashboard/commands'
import { Button } from '#dashboard/components/button'
import { Dialog } from '#dashboard/components/dialog'
import { Select, TextField, useField } from '#dashboard/components/fields'
import { Link, pathOf } from '#dashboard/components/link'
import { Empty, Section } from '#dashboard/components/page'
import { Badge, Status } from '#dashboard/components/status'
import { VirtualList } from '#dashboard/components/virtual-list'
import { useDeviceFirmware } from '#dashboard/pages/firmware/device-firmware'
import type { ProjectData } from '#dashboard/pages/firmware/project-data'
import { updateText } from '#dashboard/pages/firmware/update-words'
import { isUpdating } from '#dashboard/pages/firmware/version-tally'
import { mayUser } from '#dashboard/session'

/** The devices of a project, with the progress of their updates. */

const filters = {
  all: { label: 'All', isMatch: () => true },
  updating: { label: 'Being updated', isMatch: isUpdating },
  failed: { label: 'Failed or refused', isMatch: (device: FirmwareView) => hasStatus(device, ['FAILED', 'REFUSED']) },
  done: { label: 'Updated', isMatch: (device: FirmwareView) => hasStatus(device, ['DONE']) },
} as const
type Filter = keyof typeof filters

const filterOptions = Object.entries(filters).map(([value, { label }]) => ({ value: value as Filter, label }))

const rowHeightPx = 48

export function ProjectDevices({ devices, pins, isComplete }: ProjectData) {
  const search = useField('')
  const filter = useField<Filter>('all')
  const [selected, setSelected] = useState<string>()
  const needle = search.value.trim().toUpperCase()
  const shown = devices.filter((device) => filters[filter.value].isMatch(device) && isFound(device, needle))
  const pinned = new Set((pins.rows ?? []).map(({ deviceIdentifier }) => deviceIdentifier))
  return (
    <Section title="Devices" beside={isComplete && <span class="soft">{countText(shown.length, devices.length)}</span>}>
      {!isComplete && <p class="soft">Loading…</p>}
      {isComplete && devices.length === 0 && (
        <Empty title="No devices in this project" command={fleetCommand({ options: '--updates mixed' })}>
          Devices report their project and firmware when they connect: <code>project</code> and <code>firmwares</code>{' '}
          in HELLO. Simulated devices use the projects climate, meter and pump.
        </Empty>
      )}
      {devices.length > 0 && (
        <>
          <div class="field-row">
            <TextField label="Search" type="search" hint="Identifier or version" {...search} />
            <Select label="Show" {...filter} options={filterOptions} />
          </div>
          {shown.length === 0 ? (
            <p class="soft">No devices found.</p>
          ) : (
            <div class="firmware-devices">
              {/* Only visual; screen readers read the cells. */}
              <div class="firmware-row firmware-head" aria-hidden="true">
                <span>Device</span>
                <span>Firmware</span>
                <span>Update</span>
              </div>
              <VirtualList
                label="Devices of the project"
                rows={shown}
                rowHeight={rowHeightPx}
                rowKey={({ deviceIdentifier }) => deviceIdentifier}
                onRow={({ deviceIdentifier }) => setSelected(deviceIdentifier)}
                render={(device) => <Row device={device} isPinned={pinned.has(device.deviceIdentifier)} />}
              />
            </div>
          )}
        </>
      )}
      <Dialog title={selected ?? ''} isOpen={selected !== undefined} onClose={() => setSelected(undefined)}>
        {selected !== undefined && <DeviceDetails device={selected} pins={pins} />}
      </Dialog>
    </Section>
  )
}

function Row({ device, isPinned }: { readonly device: FirmwareView; readonly isPinned: boolean }) {
  const { deviceIdentifier, firmwares = [] } = device
  return (
    <div class="firmware-row">
      <span>
        {deviceIdentifier} {isPinned && <Badge>pinned</Badge>}
      </span>
      <span>{firmwares.map(({ firmware }) => firmware).join(' · ') || <span class="soft">unknown</span>}</span>
      <span>
        {firmwares.map((firmware) => {
          const text = updateText(firmware)
          return (
            text !== undefined && (
              <Status key={firmware.index} state={firmware.update?.status ?? ''}>
                {text}
              </Status>
            )
          )
        })}
      </span>
    </div>
  )
}

function isFound({ deviceIdentifier, firmwares = [] }: FirmwareView, needle: string): boolean {
  return deviceIdentifier.includes(needle) || firmwares.some(({ firmware }) => firmware.toUpperCase().includes(needle))
}

function hasStatus({ firmwares = [] }: FirmwareView, statuses: readonly string[]): boolean {
  return firmwares.some(({ update }) => update !== undefined && statuses.includes(update.status))
}

function countText(shown: number, all: number): string {
  return shown === all ? `${all}` : `${shown} of ${all}`
}

function DeviceDetails({ device, pins }: Pick<ProjectData, 'pins'> & { readonly device: string }) {
  const { list, update } = useDeviceFirmware(device)
  const pin = pins.rows?.find(({ deviceIdentifier }) => deviceIdentifier === device)
  return (
    <>
      <p>
        <Link to={pathOf('devices', device)}>Device page</Link>
      </p>
      {list}
      {pin && (
        <p>
          Pinned to <code>{pin.firmware}</code>.
        </p>
      )}
      {mayUser('updates', 'update', { deviceIdentifier: device }) && (
        <div class="actions">
          <Button kind="primary" onPress={update}>
            Update {device} now
          </Button>
        </div>
      )}
    </>
  )
}
