import '#dashboard/pages/firmware/firmware.css'
import { useMemo, useState } from 'preact/hooks'
import type { FirmwareView } from '#client/client'
import { fleetCommand } from '#dashboard/commands'
import { Button } from '#dashboard/components/button'
import { Dialog } from '#dashboard/components/dialog'
import { Select, TextField, useField } from '#dashboard/components/fields'
import { Link, pathOf } from '#dashboard/components/link'
import { Empty, Page, Section } from '#dashboard/components/page'
import { answerOrDefault } from '#dashboard/components/problem-text'
import { Badge, Status } from '#dashboard/components/status'
import { useCall, usePagedList, usePolling } from '#dashboard/components/use-call'
import { VirtualList } from '#dashboard/components/virtual-list'
import { useDeviceFirmware } from '#dashboard/pages/firmware/device-firmware'
import { Pins } from '#dashboard/pages/firmware/pins'
import {
  isExternalServer,
  isMissing,
  type ProjectData,
  pagesOrEmpty,
  readRollout,
  useFleetFirmware,
} from '#dashboard/pages/firmware/project-data'
import { Releases } from '#dashboard/pages/firmware/releases'
import { Rollout } from '#dashboard/pages/firmware/rollout'
import { emptyTally, isUpdating, type ProjectTally, tallyOf, updateText } from '#dashboard/pages/firmware/update-status'
import type { PageProps } from '#dashboard/routes'
import { client, mayUser } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'

/** One project: firmware of its devices, releases, pins and rollout. Contract 6. */

const pinPageSize = 500

/** No event contains the counts of a rollout, so they are polled. */
const rolloutPollMs = 2_000

/** No event reports releases, which other users or builds may upload. */
const releasePollMs = 10_000

export default function ProjectPage({ params }: PageProps) {
  const { project = '' } = params
  const parameters = { project }
  const { devices, isComplete } = useFleetFirmware(project)
  const tally = useMemo(() => tallyOf(devices).get(project) ?? emptyTally, [devices, project])
  const releases = useCall(
    () => answerOrDefault(client.call('GET /updates/projects/:project/releases', { parameters }), [], isMissing),
    [project],
  )
  // Null: no rollout; undefined: not known yet.
  const rollout = useCall(() => readRollout(project), [project])
  const pinCall = { parameters, query: { limit: `${pinPageSize}` } }
  const readPins = () => pagesOrEmpty(client.pages('GET /updates/projects/:project/pins', pinCall))
  const pins = usePagedList(readPins, pinPageSize, [project])
  const isExternal = isExternalServer(releases.problem)
  usePolling(isExternal ? undefined : rollout.refresh, rolloutPollMs)
  usePolling(isExternal ? undefined : releases.refresh, releasePollMs)
  const data = { project, releases, rollout, pins, devices, isComplete }
  return (
    <Page title={project} beside={<Link to="/firmware">All projects</Link>}>
      <Section title="Versions">{isComplete ? <VersionBars tally={tally} /> : <p class="soft">Loading…</p>}</Section>
      {isExternal ? (
        <p class="notice">An external update server has the releases, pins and rollouts of this project.</p>
      ) : (
        <>
          <Rollout {...data} />
          <Releases {...data} />
          <Pins {...data} />
        </>
      )}
      <ProjectDevices {...data} />
    </Page>
  )
}

function VersionBars({ tally: { devices, versions, updating } }: { readonly tally: ProjectTally }) {
  if (devices === 0) {
    return (
      <p class="soft">No device has reported this project. Devices report project and firmware when they connect.</p>
    )
  }
  return (
    <>
      <p>
        {countText(devices, 'device')}, {updating} being updated.
      </p>
      <ul class="version-bars">
        {versions.map(({ firmware, index, devices: count }) => (
          <li key={`${index}/${firmware}`}>
            <span>
              <code>{firmware}</code>
              {index > 0 && <span class="soft"> index {index}</span>}
            </span>
            <meter min={0} max={devices} value={count} aria-label={`Devices with ${firmware}`} />
            <span class="number">{count}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

const filters = {
  all: { label: 'All', isMatch: () => true },
  updating: { label: 'Being updated', isMatch: isUpdating },
  failed: { label: 'Failed or refused', isMatch: hasStatus(['FAILED', 'REFUSED']) },
  done: { label: 'Updated', isMatch: hasStatus(['DONE']) },
} as const
type Filter = keyof typeof filters

const filterOptions = Object.entries(filters).map(([value, { label }]) => ({ value: value as Filter, label }))

const rowHeightPx = 48

/** The devices of a project, with the progress of their updates. */
function ProjectDevices({ devices, pins, isComplete }: ProjectData) {
  const search = useField('')
  const filter = useField<Filter>('all')
  const [selected, setSelected] = useState<string>()
  const needle = search.value.trim().toUpperCase()
  const shown = devices.filter((device) => filters[filter.value].isMatch(device) && isFound(device, needle))
  const pinned = new Set((pins.rows ?? []).map(({ deviceIdentifier }) => deviceIdentifier))
  return (
    <Section
      title="Devices"
      beside={
        isComplete && (
          <span class="soft">
            {shown.length === devices.length ? '' : `${shown.length} of `}
            {devices.length}
          </span>
        )
      }
    >
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
  const updated = firmwares.filter((entry) => updateText(entry) !== undefined)
  return (
    <div class="firmware-row">
      <span>
        {deviceIdentifier} {isPinned && <Badge>pinned</Badge>}
      </span>
      <span>{firmwares.map(({ firmware }) => firmware).join(' · ') || <span class="soft">unknown</span>}</span>
      <span>
        {updated.map((entry) => (
          <Status key={entry.index} state={entry.update?.status ?? ''}>
            {updateText(entry)}
          </Status>
        ))}
      </span>
    </div>
  )
}

function isFound({ deviceIdentifier, firmwares = [] }: FirmwareView, needle: string): boolean {
  return deviceIdentifier.includes(needle) || firmwares.some(({ firmware }) => firmware.toUpperCase().includes(needle))
}

function hasStatus(statuses: readonly string[]) {
  return ({ firmwares = [] }: FirmwareView) => firmwares.some(({ update }) => statuses.includes(update?.status ?? ''))
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
