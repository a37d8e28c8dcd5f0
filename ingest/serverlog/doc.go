// Package serverlog reads logs from which failures alone are wanted: of
// TensorRT-LLM, TGI, uvicorn and other web servers, the kernel and Kubernetes.
package serverlog
