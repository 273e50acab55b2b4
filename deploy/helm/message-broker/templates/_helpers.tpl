{{/* Names, labels and what every pod has. */}}

{{- define "broker.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "broker.image" -}}
{{- printf "%s:%s" .image.repository (default .root.Chart.AppVersion .image.tag) -}}
{{- end }}

{{/* Of one part: dict "root" $ "part" "web-doors". */}}
{{- define "broker.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "broker.labels" -}}
{{ include "broker.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* The knobs: what the chart knows itself, then whatever `config` says. */}}
{{- define "broker.config" -}}
DJANGO_SETTINGS_MODULE: broker_project.settings.production
BROKER_DATA_DIR: /data
ALLOWED_HOSTS: {{ join "," .Values.hosts | quote }}
CSRF_TRUSTED_ORIGINS: {{ printf "https://%s" (join ",https://" .Values.hosts) | quote }}
PUBLIC_URL: {{ printf "https://%s" (first .Values.hosts) | quote }}
{{- if .Values.grpc.enabled }}
GRPC_ADDRESS: {{ printf "%s-grpc:8003" (include "broker.name" .) }}
{{- end }}
{{- range $name, $value := .Values.config }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "broker.secrets" -}}
{{- range concat (list "SECRET_KEY" "TOKEN_KEYS" "FLOWER_PASSWORD" "DATABASE_URL" "REDIS_URL") .Values.secrets.further }}
- name: {{ . }}_FILE
  value: /run/secrets/broker/{{ lower . }}
{{- end }}
{{- end }}

{{- define "broker.pod-security" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ . }}
  runAsGroup: {{ . }}
  fsGroup: {{ . }}
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "broker.container-security" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- define "broker.volume-mounts" -}}
volumeMounts:
  - name: data
    mountPath: /data
  - name: tmp
    mountPath: /tmp
  - name: secrets
    mountPath: /run/secrets/broker
    readOnly: true
{{- end }}

{{/* dict "root" $ "claimed" true: whether the claim for reports is what /data is. */}}
{{- define "broker.volumes" -}}
volumes:
  - name: data
    {{- if and .claimed .root.Values.data.existingClaim }}
    persistentVolumeClaim:
      claimName: {{ .root.Values.data.existingClaim }}
    {{- else }}
    emptyDir: {}
    {{- end }}
  - name: tmp
    emptyDir: {}
  - name: secrets
    secret:
      secretName: {{ .root.Values.secrets.existingSecret }}
      defaultMode: 0440
{{- end }}

{{- define "broker.placing" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "broker.http-probes" -}}
startupProbe:
  httpGet: {path: {{ .alive }}, port: http}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: {{ .alive }}, port: http}
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: {{ .ready }}, port: http}
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}

{{/* Of a worker or beat: is its work done? With the database away it is nobody's fault here, and nothing is restarted. */}}
{{- define "broker.progress-probes" -}}
startupProbe:
  exec: {command: [python, deploy/probe.py, progress, {{ . }}]}
  periodSeconds: 5
  timeoutSeconds: 10
  failureThreshold: 36
livenessProbe:
  exec: {command: [python, deploy/probe.py, moving, {{ . }}]}
  periodSeconds: 30
  timeoutSeconds: 10
  failureThreshold: 4
{{- end }}

{{/* Requests still come for a moment after a pod was told to end. */}}
{{- define "broker.leave" -}}
lifecycle:
  preStop:
    exec: {command: [sleep, {{ .Values.leaveSeconds | quote }}]}
{{- end }}
