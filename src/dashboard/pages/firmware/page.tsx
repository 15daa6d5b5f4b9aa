import '#dashboard/pages/firmware/firmware.css'
import { useMemo } from 'preact/hooks'
import type { Item } from '#client/client'
import { fleetCommand, uploadCommand } from '#dashboard/commands'
import { Command } from '#dashboard/components/copy-button'
import { Link, pathOf } from '#dashboard/components/link'
import { CallResult, Empty, Page, Section } from '#dashboard/components/page'
import { Status } from '#dashboard/components/status'
import { type Column, Table } from '#dashboard/components/table'
import { useCall } from '#dashboard/components/use-call'
import { isExternalServer, mayForAll, useFleetFirmware } from '#dashboard/pages/firmware/project-data'
import { emptyTally, type ProjectTally, tallyOf, withoutProject } from '#dashboard/pages/firmware/update-status'
import { UploadButton } from '#dashboard/pages/firmware/upload-dialog'
import { client } from '#dashboard/session'

/** Projects: the firmware of their devices, and the available releases. §2.7, contract 6. */

type Project = Item<'GET /updates/projects'>

/** A project that the update server knows, or devices report, or both. */
type Row = ReturnType<typeof rowsOf>[number]

export default function FirmwarePage() {
  const projects = useCall(() => client.call('GET /updates/projects'), [])
  const { devices, isComplete } = useFleetFirmware()
  const tallies = useMemo(() => tallyOf(devices), [devices])
  const isExternal = isExternalServer(projects.problem)
  const mayUpload = mayForAll('create') && !isExternal
  return (
    <Page
      title="Firmware"
      actions={
        mayUpload && (
          <UploadButton
            kind="primary"
            onDone={projects.refresh}
            projectStatusOf={(project) => ({
              hasRollout: Boolean(projects.value?.find((one) => one.project === project)?.rollout),
              devices: tallies.get(project)?.devices ?? 0,
            })}
          />
        )
      }
    >
      {isExternal && (
        <p class="notice">
          An external update server (<code>UPDATE_SERVER_URL</code>) has the releases, pins and rollouts. This page
          shows the firmware and the updates of devices.
        </p>
      )}
      <Section title="Projects">
        <CallResult call={isExternal ? { ...projects, value: [], problem: undefined } : projects}>
          {(known) => (
            <Table
              caption="List of projects"
              columns={columns}
              rows={rowsOf(known, tallies)}
              rowKey={({ project }) => project}
              empty={isComplete ? <NoProjects mayUpload={mayUpload} /> : <p class="soft">Loading…</p>}
            />
          )}
        </CallResult>
      </Section>
    </Page>
  )
}

function rowsOf(known: readonly Project[], tallies: ReadonlyMap<string, ProjectTally>) {
  const names = new Set([...known.map(({ project }) => project), ...tallies.keys()])
  return [...names].sort().map((project) => ({
    project,
    known: known.find((one) => one.project === project),
    tally: tallies.get(project) ?? emptyTally,
  }))
}

const columns: readonly Column<Row>[] = [
  {
    title: 'Project',
    cell: ({ project }) =>
      project === withoutProject ? (
        <span class="soft">no project</span>
      ) : (
        <Link to={pathOf('firmware', project)}>{project}</Link>
      ),
  },
  { title: 'Devices', align: 'end', cell: ({ tally }) => tally.devices },
  { title: 'Versions', cell: ({ tally }) => <Versions tally={tally} /> },
  { title: 'Being updated', align: 'end', cell: ({ tally }) => tally.updating },
  { title: 'Releases', align: 'end', cell: ({ known }) => known?.releases ?? 0 },
  { title: 'Pins', align: 'end', cell: ({ known }) => known?.pins ?? 0 },
  {
    title: 'Rollout',
    cell: ({ known }) =>
      known?.rollout ? (
        <>
          <Status state={known.rollout.state} /> {known.rollout.firmware} to {known.rollout.percent} %
        </>
      ) : (
        <span class="soft">none</span>
      ),
  },
]

function NoProjects({ mayUpload }: { readonly mayUpload: boolean }) {
  return (
    <Empty title="No firmware" command={mayUpload ? uploadCommand('boiler', '1.0.0') : undefined}>
      <p>
        Devices report their project and firmware when they connect. Simulated devices do this too, and accept updates:
      </p>
      <Command command={fleetCommand({ options: '--updates mixed' })} />
      <p>
        The first release creates a project
        {mayUpload ? ': upload one above, or in a terminal.' : ', which needs permission on all devices.'} With
        authentication on, the commands need an API key and a provisioning key; create both under{' '}
        <Link to="/administration/keys">administration</Link>.
      </p>
    </Empty>
  )
}

const versionsShown = 3

function Versions({ tally: { versions } }: { readonly tally: ProjectTally }) {
  if (versions.length === 0) return <span class="soft">unknown</span>
  const shown = versions.slice(0, versionsShown).map(({ firmware, devices }) => `${firmware} on ${devices}`)
  const more = versions.length - versionsShown
  return <>{more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')}</>
}
