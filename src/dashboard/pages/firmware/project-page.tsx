import { useMemo } from 'preact/hooks'
import { Link } from '#dashboard/components/link'
import { Page, Section } from '#dashboard/components/page'
import { answerOrDefault } from '#dashboard/components/problem-text'
import { useCall, usePolling } from '#dashboard/components/use-call'
import { usePagedList } from '#dashboard/components/use-paged-list'
import { Pins } from '#dashboard/pages/firmware/pins'
import {
  isExternalServer,
  isMissing,
  pagesOrEmpty,
  readRollout,
  useFleetFirmware,
} from '#dashboard/pages/firmware/project-data'
import { ProjectDevices } from '#dashboard/pages/firmware/project-devices'
import { Releases } from '#dashboard/pages/firmware/releases'
import { Rollout } from '#dashboard/pages/firmware/rollout'
import { emptyTally, type ProjectTally, tallyOf } from '#dashboard/pages/firmware/version-tally'
import type { PageProps } from '#dashboard/routes'
import { client } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'
import '#dashboard/pages/firmware/firmware.css'

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
      <Section title="Versions">
        <VersionBars tally={tally} isComplete={isComplete} />
      </Section>
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

interface VersionBarsProps {
  readonly tally: ProjectTally
  readonly isComplete: boolean
}

function VersionBars({ tally: { devices, versions, updating }, isComplete }: VersionBarsProps) {
  if (!isComplete) return <p class="soft">Loading…</p>
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
