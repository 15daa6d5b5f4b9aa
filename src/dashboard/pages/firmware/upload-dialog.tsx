import { useEffect, useRef, useState } from 'preact/hooks'
import type { ButtonProps } from '#dashboard/components/button'
import { DialogButton } from '#dashboard/components/dialog'
import { Field, NumberField, Radio, TextField, useFields } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { nameProblem, versionIn, versionProblem } from '#dashboard/components/names'
import { ExplainedError, problemText, withExplanation } from '#dashboard/components/problem-text'
import { notify } from '#dashboard/components/toasts'
import { type UploadEnvironment, uploadImage } from '#dashboard/pages/firmware/image-upload'
import { client } from '#dashboard/session'
import { pause } from '#dashboard/timers'
import { bytesText } from '#dashboard/values/format-value'

interface UploadButtonProps {
  readonly onDone: () => void
  /** Whether a project has a rollout, and its number of devices. */
  readonly projectStatusOf: (project: string) => { readonly hasRollout: boolean; readonly devices: number }
  /** Undefined: the form asks for the project. */
  readonly project?: string | undefined
}

/** As typed. */
interface UploadDraft {
  readonly project: string
  readonly firmware: string
  readonly hardware: string
  readonly index: number | undefined
  readonly file: File | undefined
  /** The share of the devices that a first rollout begins with, unless the release is for all. */
  readonly percent: number | undefined
  readonly isForAll: boolean
}

const emptyDraft = { firmware: '', hardware: '', index: 0, file: undefined, percent: 10, isForAll: false }

interface Progress {
  readonly bytes: number
  readonly of: number
  readonly pause?: string | undefined
}

/** A release: its image, uploaded in parts, and its version. Closing the dialog cancels the upload. */
export function UploadButton({ kind, ...props }: UploadButtonProps & Pick<ButtonProps, 'kind'>) {
  return (
    <DialogButton kind={kind} button="New release" title="New release">
      <UploadForm {...props} />
    </DialogButton>
  )
}

function UploadForm({ project: fixedProject, projectStatusOf, onDone }: UploadButtonProps) {
  const { values, set, field } = useFields<UploadDraft>({ ...emptyDraft, project: fixedProject ?? '' })
  const { project, firmware, hardware, index = 0, file, percent, isForAll } = values
  const [progress, setProgress] = useState<Progress>()
  const cancellation = useRef(new AbortController())
  useEffect(() => () => cancellation.current.abort(), [])

  const { hasRollout, devices } = projectStatusOf(project)
  const asksForShare = !hasRollout && devices > 0
  const rolloutPercent = asksForShare && !isForAll ? percent : undefined
  const fault = versionProblem(firmware) ?? nameProblem(project) ?? nameProblem(hardware)
  const upload = async () => {
    if (!file) throw new ExplainedError('Choose a file first.')
    const release = { project, firmware, hardware, index }
    // Starts the rollout first: without a rollout, the server offers the release to all devices that connect.
    if (rolloutPercent !== undefined) await startRollout(release, rolloutPercent)
    try {
      await withExplanation(sendImage(file, release, cancellation.current.signal, setProgress), {
        400: (error) =>
          error.includes('SHA-256')
            ? 'The image is damaged: it contains parts of an earlier upload. Upload it again.'
            : undefined,
        403: 'Releases apply to all devices, so they need permission on all devices.',
        409: (error) =>
          error.includes('another image')
            ? `${firmware} exists with another image. A release cannot be changed: choose another version.`
            : undefined,
        413: (error) => error,
      })
    } catch (problem) {
      if (rolloutPercent !== undefined) await endRollout(project)
      if (cancellation.current.signal.aborted) {
        notify(`The upload of ${project} ${firmware} was cancelled: choose the file again to continue`)
        return false
      }
      throw problem
    } finally {
      setProgress(undefined)
    }
    notify(`${project} ${firmware} is uploaded`)
    onDone()
    return true
  }
  return (
    <Form
      label="New release"
      submit={asksForShare && isForAll ? `Upload for ${countText(devices)}` : 'Upload'}
      onSubmit={upload}
      isLong
      isDisabled={fault !== undefined || (asksForShare && !isForAll && percent === undefined)}
    >
      {fixedProject === undefined && (
        <TextField
          label="Project"
          hint="The name that devices report."
          problem={nameProblem(project)}
          isCode
          {...field('project')}
          isRequired
          hasFocus
        />
      )}
      <Field
        label="Image"
        id="release-image"
        hint="Continues after an interruption, or when you choose the file again within a day."
      >
        <input
          id="release-image"
          class="input"
          type="file"
          required
          onChange={({ currentTarget: { files } }) =>
            set({ file: files?.[0], firmware: firmware || (versionIn(files?.[0]?.name ?? '') ?? '') })
          }
        />
      </Field>
      <TextField
        label="Version"
        hint="A semantic version. A release cannot be changed: another image needs another version."
        problem={versionProblem(firmware)}
        isCode
        {...field('firmware')}
        isRequired
      />
      <TextField
        label="Hardware"
        hint="Only for devices with this hardware. Empty: any."
        problem={nameProblem(hardware)}
        isCode
        {...field('hardware')}
      />
      <NumberField
        label="Index"
        hint="The number of the firmware, for devices with several."
        {...field('index')}
        min={0}
        max={255}
        step={1}
      />
      {/* Unless a rollout is started, all devices of a project without one are offered the newest release. */}
      {asksForShare && (
        <Field label="Devices that are updated">
          <Radio
            {...field('isForAll')}
            options={[
              {
                value: false,
                label: 'A part of them first, by a rollout',
                content: (
                  <NumberField
                    label="Share of the devices"
                    hint={`About ${Math.round((devices * (percent ?? 0)) / 100)} of ${devices}. The rollout stops when 20 % of the updates fail, and can be extended later.`}
                    {...field('percent')}
                    min={0}
                    max={100}
                    unit="%"
                    isRequired
                  />
                ),
              },
              { value: true, label: `Every device that connects: ${countText(devices)} at present` },
            ]}
          />
        </Field>
      )}
      {progress && (
        <div class="field">
          <label for="release-progress">
            {bytesText(progress.bytes)} of {bytesText(progress.of)},{' '}
            {progress.of === 0 ? 0 : Math.floor((100 * progress.bytes) / progress.of)} %
          </label>
          <progress id="release-progress" value={progress.bytes} max={progress.of} />
          <small class="hint" role="status">
            {progress.pause && `${progress.pause} The upload continues automatically.`}
          </small>
        </div>
      )}
    </Form>
  )
}

async function startRollout(
  { project, firmware }: Pick<UploadDraft, 'project' | 'firmware'>,
  percent: number,
): Promise<void> {
  const body = { firmware, percent, errorThresholdPercent: 20 }
  const place = { parameters: { project }, ifNoneMatch: '*' }
  const call = client.call('PUT /updates/projects/:project/rollout', { ...place, body })
  await withExplanation(call, { 403: 'A rollout for all devices needs permission on all devices.' })
}

/** Called when an upload failed or was cancelled: otherwise the rollout would withhold the newest release. */
async function endRollout(project: string): Promise<void> {
  await client.call('DELETE /updates/projects/:project/rollout', { parameters: { project } }).catch(() => undefined)
}

function countText(devices: number): string {
  return devices === 1 ? 'the one device' : `all ${devices} devices`
}

/** Twice the time that a part takes at the minimum speed that the server accepts. */
const partTimeoutMs = 60_000

async function sendImage(
  file: File,
  { project, firmware, hardware, index }: Pick<UploadDraft, 'project' | 'firmware' | 'hardware' | 'index'>,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  let shown: Progress = { bytes: 0, of: file.size }
  const show = (more: Partial<Progress>) => {
    shown = { ...shown, ...more }
    onProgress(shown)
  }
  show({})
  const sha256 = await sha256Of(file)
  const query = { ...(hardware !== '' && { hardware }), index: `${index}`, ...(sha256 !== undefined && { sha256 }) }
  const environment: UploadEnvironment = {
    signal,
    send: (contentRange, part) =>
      client.answer('PUT /updates/projects/:project/releases/:firmware', {
        parameters: { project, firmware },
        query,
        body: part,
        headers: { 'Content-Range': contentRange },
        signal,
        silenceMs: partTimeoutMs,
      }),
    wait: pause,
    onReceived: (bytes) => show({ bytes, pause: undefined }),
    onPause: (why) => show({ pause: problemText(new Error(why)) }),
  }
  await uploadImage(file, environment)
}

/**
 * The SHA-256 in hex, by which the server checks that all parts belong to this file, even if they arrived on different
 * days. Undefined if the browser cannot compute it: on a page that another machine serves over plain HTTP.
 */
async function sha256Of(file: File): Promise<string | undefined> {
  if (!globalThis.crypto?.subtle) return undefined
  const hash = await crypto.subtle.digest('SHA-256', await file.arrayBuffer())
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
