import { useEffect, useRef, useState } from 'preact/hooks'
import type { ButtonProps } from '#dashboard/components/button'
import { DialogButton } from '#dashboard/components/dialog'
import {
  type CheckboxProps,
  Field,
  NumberField,
  type NumberFieldProps,
  Radio,
  TextField,
  useField,
} from '#dashboard/components/fields'
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
  const projectField = useField(fixedProject ?? '')
  const version = useField('')
  const hardwareField = useField('')
  const index = useField<number | undefined>(0)
  const [file, setFile] = useState<File>()
  const share = useField<number | undefined>(firstPercent)
  const forAll = useField(false)
  const [project, firmware, hardware] = [projectField.value, version.value, hardwareField.value]
  const [percent, isForAll] = [share.value, forAll.value]
  const [progress, setProgress] = useState<Progress>()
  const cancellation = useRef(new AbortController())
  useEffect(() => () => cancellation.current.abort(), [])

  const { hasRollout, devices } = projectStatusOf(project)
  const asksForShare = !hasRollout && devices > 0
  const rolloutPercent = asksForShare && !isForAll ? percent : undefined
  const fault = versionProblem(firmware) ?? nameProblem(project) ?? nameProblem(hardware)
  const upload = async () => {
    if (!file) throw new ExplainedError('Choose a file first.')
    const release = { project, firmware, hardware, index: index.value ?? 0 }
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
          {...projectField}
          isRequired
          hasFocus
        />
      )}
      <FileField
        onFile={(chosen) => {
          setFile(chosen)
          if (firmware === '') version.onChange(versionIn(chosen?.name ?? '') ?? '')
        }}
      />
      <TextField
        label="Version"
        hint="A semantic version. A release cannot be changed: another image needs another version."
        problem={versionProblem(firmware)}
        isCode
        {...version}
        isRequired
      />
      <TextField
        label="Hardware"
        hint="Only for devices with this hardware. Empty: any."
        problem={nameProblem(hardware)}
        isCode
        {...hardwareField}
      />
      <NumberField
        label="Index"
        hint="The number of the firmware, for devices with several."
        {...index}
        min={0}
        max={255}
        step={1}
      />
      {asksForShare && <RolloutShare {...{ devices, share, forAll }} />}
      {progress && <UploadProgress progress={progress} />}
    </Form>
  )
}

/** The share of the devices that a first rollout begins with. */
const firstPercent = 10

interface RolloutShareProps {
  readonly devices: number
  readonly share: Pick<NumberFieldProps, 'value' | 'onChange'>
  readonly forAll: Pick<CheckboxProps, 'value' | 'onChange'>
}

/**
 * For a project without a rollout: unless a rollout is started, all devices of the project are offered the newest
 * release.
 */
function RolloutShare({ devices, share, forAll }: RolloutShareProps) {
  const first = Math.round((devices * (share.value ?? 0)) / 100)
  return (
    <Field label="Devices that are updated">
      <Radio
        {...forAll}
        options={[
          {
            value: false,
            label: 'A part of them first, by a rollout',
            content: (
              <NumberField
                label="Share of the devices"
                hint={`About ${first} of ${devices}. The rollout stops when 20 % of the updates fail, and can be extended later.`}
                {...share}
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
  )
}

async function startRollout({ project, firmware }: Release, percent: number): Promise<void> {
  const body = { firmware, percent, errorThresholdPercent: 20 }
  const call = client.call('PUT /updates/projects/:project/rollout', {
    parameters: { project },
    ifNoneMatch: '*',
    body,
  })
  await withExplanation(call, { 403: 'A rollout for all devices needs permission on all devices.' })
}

/** Called when an upload failed or was cancelled: otherwise the rollout would withhold the newest release. */
async function endRollout(project: string): Promise<void> {
  await client.call('DELETE /updates/projects/:project/rollout', { parameters: { project } }).catch(() => undefined)
}

function countText(devices: number): string {
  return devices === 1 ? 'the one device' : `all ${devices} devices`
}

function FileField({ onFile }: { readonly onFile: (file: File | undefined) => void }) {
  const id = 'release-image'
  return (
    <Field
      label="Image"
      id={id}
      hint="Continues after an interruption, or when you choose the file again within a day."
    >
      <input
        id={id}
        class="input"
        type="file"
        required
        onChange={({ currentTarget }) => onFile(currentTarget.files?.[0])}
      />
    </Field>
  )
}

function UploadProgress({ progress: { bytes, of, pause } }: { readonly progress: Progress }) {
  const percent = of === 0 ? 0 : Math.floor((100 * bytes) / of)
  return (
    <div class="field">
      <label for="release-progress">
        {bytesText(bytes)} of {bytesText(of)}, {percent} %
      </label>
      <progress id="release-progress" value={bytes} max={of} />
      <small class="hint" role="status">
        {pause && `${pause} The upload continues automatically.`}
      </small>
    </div>
  )
}

/** Twice the time that a part takes at the minimum speed that the server accepts. */
const partTimeoutMs = 60_000

interface Release {
  readonly project: string
  readonly firmware: string
  readonly hardware: string
  readonly index: number
}

async function sendImage(
  file: File,
  { project, firmware, hardware, index }: Release,
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
